"""Uploaded pictures are decoded in processes of their own: a hostile one ends that, no more."""

import io
import os
import signal
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from queue import LifoQueue
from typing import TYPE_CHECKING

import numpy as np

from polyglance.core.apart import Apart
from polyglance.data.images.given import as_files
from polyglance.data.images.read import open_image, reading
from polyglance.errors import ImageProblem
from polyglance.serve.problems import Problem

if TYPE_CHECKING:
    from polyglance.library.media.reading import Preparing

MAX_PIXELS = 50_000_000
"""Of an uploaded picture; those of the owner may have more (`data.images`)."""
MEMORY = 1_500_000_000
"""Bytes of address space that the process may take besides its libraries."""
SECONDS = 20.0
"""That a picture may take."""
PROCESSES = min(4, os.cpu_count() or 1)
"""That decode at a time; each is started when all others are busy."""
_START = 60.0
"""Seconds more for the first one, before which the process has to import."""
_NAME = Path("the picture")


class Decoder:
    """Files' bytes become a model's input; any number of threads may call it."""

    def __init__(
        self,
        how: "Preparing",
        seconds: float = SECONDS,
        memory: int = MEMORY,
        processes: int = PROCESSES,
    ) -> None:
        """
        Args:
            how: the model prepares a picture.
            seconds: that a picture may take.
            memory: bytes that a process may take besides its libraries.
            processes: that decode at a time.
        """
        self.how, self.seconds = how, seconds
        self.processes = [Apart(_work, how, memory) for _ in range(processes)]
        # The one that was used last is taken first, so that those that nobody needs never start.
        self._idle: LifoQueue[Apart] = LifoQueue()
        for one in self.processes:
            self._idle.put(one)

    def __call__(self, data: bytes) -> np.ndarray:
        """The input, float32 of the shape that the model wants."""
        process = self._idle.get()
        try:
            answer = self._ask(process, data)
        finally:
            self._idle.put(process)
        status, body = int(answer[:3]), answer[3:]
        if status != 200:
            raise Problem(status, body.decode("utf-8", "replace"))
        return np.frombuffer(body, np.float32).reshape(self.how.shape)

    def _ask(self, process: Apart, data: bytes) -> bytes:
        pipe = _running(process)
        try:
            pipe.send_bytes(data)
            if pipe.poll(self.seconds):
                return pipe.recv_bytes()
            said = "it takes too long to decode"
        except (EOFError, OSError):
            said = "it takes too much to decode"
        process.close()
        raise Problem(422, f"the picture cannot be read: {said}")

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.close()


def _running(process: Apart) -> Connection:
    pipe, fresh = process.pipe()
    if fresh:
        if not pipe.poll(_START):
            process.close()
            raise Problem(503, "the process that decodes pictures does not start; try again")
        pipe.recv_bytes()
    return pipe


def _work(pipe: Connection, how: "Preparing", memory: int) -> None:
    """Answer until the other side is gone: a status of three digits, then pixels or a sentence.

    Not with pickles: whoever takes this process over must not run anything in the other.
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
            pipe.send_bytes(b"200" + decode(data, how).tobytes())
        except Problem as problem:
            pipe.send_bytes(str(problem.status).encode() + problem.message.encode())


def _be_quiet() -> None:
    """What decoders say of a damaged picture, from C as well, is no line of the service's log."""
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
    except OSError:  # not Linux; there the libraries count
        pages = 0
    most = memory + pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def decode(data: bytes, how: "Preparing") -> np.ndarray:
    """The model's input, float32, of a picture's bytes; in this process."""
    try:
        with open_image(_NAME, io.BytesIO(data)) as image:
            width, height = image.size
        if width * height > MAX_PIXELS:
            raise Problem(
                413, f"the picture has {width}×{height} pixels, and {MAX_PIXELS:,} are the most"
            )
        with as_files([data]) as (paths, _), reading(paths[0], how.short_side) as image:
            return np.ascontiguousarray(how.apply(image), np.float32)
    except ImageProblem as problem:
        raise Problem(422, f"the picture cannot be read: {problem.reason}") from None
    except Problem:
        raise
    except Exception:  # what Pillow says of damaged heads
        raise Problem(422, "the picture cannot be read: broken image") from None
