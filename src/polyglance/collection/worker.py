"""A process that embeds parts: an image that crashes it is skipped, and the work continues."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from typing import Any

from polyglance.collection.plan import Part, part_of
from polyglance.collection.work import Counts, Work
from polyglance.core.child_process import ChildProcess
from polyglance.errors import PolyglanceError
from polyglance.library.shards import read_mark
from polyglance.storage.folders import Folder

MOST_CRASHES = 1000
"""Images of one part that may crash the process."""


class Failed(PolyglanceError):
    """A part that could not be read this time, such as when the network was down."""


class Worker:
    """The embedding process, as seen from its parent; it starts with the first part."""

    def __init__(self, place: str) -> None:
        self._process = ChildProcess(_serve, place)

    def __call__(self, part: Part, progress: Callable[[int], None]) -> Counts:
        """Embed a part; after a crash again, one image at a time.

        Args:
            part: of the plan.
            progress: called with the number of images done; negative if some are done again.
        """
        crashed: list[int] = []
        careful = False
        while True:
            counts, done, at = self._try(part, progress, crashed, careful)
            if counts is not None:
                return counts
            progress(-done)
            if careful and (at is None or at in crashed or len(crashed) == MOST_CRASHES):
                raise PolyglanceError(
                    f"{part.place}: the process that embeds it keeps crashing, at no image in "
                    "particular; if memory is short, use fewer --workers"
                )
            if careful and at is not None:
                crashed.append(at)
            careful = True

    def _try(
        self, part: Part, progress: Callable[[int], None], crashed: list[int], careful: bool
    ) -> tuple[Counts | None, int, int | None]:
        """The counts of the part (None after a crash), images done, and the last image begun."""
        pipe, _ = self._process.pipe()
        done, at = 0, None
        job = {"part": part.as_json(), "crashed": crashed, "careful": careful}
        try:
            pipe.send_bytes(json.dumps(job).encode())
            while True:
                answer = json.loads(pipe.recv_bytes())
                if "counts" in answer:
                    return Counts(**answer["counts"]), done, at
                if "failed" in answer:
                    raise Failed(answer["failed"])
                if "wrong" in answer:
                    raise PolyglanceError(answer["wrong"])
                at = answer.get("at", at)
                done += answer.get("done", 0)
                progress(answer.get("done", 0))
        except (EOFError, ConnectionError):
            self.close()
            return None, done, at

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _serve(pipe: Connection, place: str) -> None:
    """Embed parts on request until the parent is gone; answers are JSON, not pickle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process per core
    _end_with_parent()

    def send(value: dict[str, Any]) -> None:
        pipe.send_bytes(json.dumps(value).encode())

    work: Work | None = None
    while True:
        try:
            job = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            work = work or open_work(place)
            part = part_of(job["part"])
            counts = work(part, send, set(job["crashed"]), job["careful"])
            send({"counts": asdict(counts)})
        except PolyglanceError as error:
            send({"wrong": str(error)})
        except Exception as error:  # from a file system or the network
            reason = (str(error).splitlines() or [""])[0]
            send({"failed": f"{type(error).__name__}: {reason}"})


def _end_with_parent() -> None:
    """Exit when the parent is gone: the pipe stays open if other processes hold it."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def open_work(place: str) -> Work:
    """The `Work` for a folder of shards, with the model that the folder names."""
    from polyglance.library.library import load_encoder

    folder = Folder(place)
    mark = read_mark(folder)
    model, _ = load_encoder(mark.model_folder or None)
    if mark.model not in model.ids:
        raise PolyglanceError(
            f"{mark.model_folder or 'the model'}: is not the one that {place} was started with; "
            "pass that one with --model, or embed into a new folder"
        )
    return Work(folder, mark, model)
