"""Decodes uploaded images in separate processes, so that a malicious one crashes only those."""

import io
import os
import signal
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from queue import LifoQueue
from typing import TYPE_CHECKING

import numpy as np

from polyglance.core.child_process import ChildProcess
from polyglance.data.images.inputs import as_files
from polyglance.data.images.read import open_image, reading
from polyglance.errors import ImageProblem
from polyglance.serve.problems import Problem

if TYPE_CHECKING:
    from polyglance.library.media.reading import Preparing

MAX_PIXELS = 50_000_000
"""Largest uploaded image in pixels; local ones may have more (`data.images`)."""
MEMORY = 1_500_000_000
"""Address space in bytes that a process may use in addition to its libraries."""
SECONDS = 20.0
"""Time limit per image in seconds."""
PROCESSES = min(4, os.cpu_count() or 1)
"""Largest number of decoding processes; each is started when all others are busy."""
_START = 60.0
"""Additional seconds for the first image, as the process has to import modules."""
_NAME = Path("the image")


class Decoder:
    """From file bytes to a model's input; thread-safe."""

    def __init__(
        self,
        preprocessing: "Preparing",
        seconds: float = SECONDS,
        memory: int = MEMORY,
        processes: int = PROCESSES,
    ) -> None:
        """
        Args:
            preprocessing: the model's preprocessing.
            seconds: time limit per image.
            memory: bytes that a process may use in addition to its libraries.
            processes: largest number of processes.
        """
        self.preprocessing, self.seconds = preprocessing, seconds
        self.processes = [ChildProcess(_work, preprocessing, memory) for _ in range(processes)]
        # The most recently used process is taken first, so that unneeded ones never start.
        self._idle: LifoQueue[ChildProcess] = LifoQueue()
        for one in self.processes:
            self._idle.put(one)

    def __call__(self, data: bytes) -> np.ndarray:
        """The model's input, float32."""
        process = self._idle.get()
        try:
            answer = self._ask(process, data)
        finally:
            self._idle.put(process)
        status, body = int(answer[:3]), answer[3:]
        if status != 200:
            raise Problem(status, body.decode("utf-8", "replace"))
        return np.frombuffer(body, np.float32).reshape(self.preprocessing.shape)

    def _ask(self, process: ChildProcess, data: bytes) -> bytes:
        pipe = _running(process)
        try:
            pipe.send_bytes(data)
            if pipe.poll(self.seconds):
                return pipe.recv_bytes()
            said = "decoding takes too long"
        except (EOFError, OSError):
            said = "decoding takes too much memory"
        process.close()
        raise Problem(422, f"the image cannot be read: {said}")

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.close()


def _running(process: ChildProcess) -> Connection:
    pipe, fresh = process.pipe()
    if fresh:
        if not pipe.poll(_START):
            process.close()
            raise Problem(503, "the process that decodes images does not start; try again")
        pipe.recv_bytes()
    return pipe


def _work(pipe: Connection, preprocessing: "Preparing", memory: int) -> None:
    """Answer until the parent is gone: a three-digit status, then pixels or a message.

    No pickles: whoever takes over this process must not be able to run code in the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(memory)
    _be_quiet()
    pipe.send_bytes(b"ready")
    while True:
        try:
            data = pipe.recv_bytes()
        except EOFError:
            return
        try:
            pipe.send_bytes(b"200" + decode(data, preprocessing).tobytes())
        except Problem as problem:
            pipe.send_bytes(str(problem.status).encode() + problem.message.encode())


def _be_quiet() -> None:
    """Discard the decoders' own messages (also those from C), which are not for the log."""
    warnings.simplefilter("ignore")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux: the limit includes the libraries
        pages = 0
    most = memory + pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def decode(data: bytes, preprocessing: "Preparing") -> np.ndarray:
    """The model's input, float32, from an image's bytes; in this process."""
    try:
        with open_image(_NAME, io.BytesIO(data)) as image:
            width, height = image.size
        if width * height > MAX_PIXELS:
            raise Problem(
                413, f"the image has {width}×{height} pixels; the limit is {MAX_PIXELS:,}"
            )
        with as_files([data]) as (paths, _), reading(paths[0], preprocessing.short_side) as image:
            return np.ascontiguousarray(preprocessing.apply(image), np.float32)
    except ImageProblem as problem:
        raise Problem(422, f"the image cannot be read: {problem.reason}") from None
    except Problem:
        raise
    except Exception:  # Pillow raises many types for damaged headers
        raise Problem(422, "the image cannot be read: damaged image") from None
