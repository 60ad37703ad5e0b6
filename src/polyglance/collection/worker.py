"""A process that embeds parts: an image that ends it costs that image, not the work."""

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
from polyglance.core.apart import Apart
from polyglance.errors import PolyglanceError
from polyglance.library.shards import read_mark
from polyglance.storage.folders import Folder

MOST_CRASHES = 1000
"""Images of one part that may end the process."""


class Failed(PolyglanceError):
    """A part that could not be read this time, such as when a network was not there."""


class Worker:
    """The process, seen from the one that gives it work; it starts with the first part."""

    def __init__(self, place: str) -> None:
        self._apart = Apart(_serve, place)

    def __call__(self, part: Part, told: Callable[[int], None]) -> Counts:
        """Embed a part, again and more carefully where an image ends the process.

        Args:
            part: of the plan.
            told: told how many images are done; less than none where some are done again.
        """
        crashed: list[int] = []
        careful = False
        while True:
            counts, done, at = self._try(part, told, crashed, careful)
            if counts is not None:
                return counts
            told(-done)
            if careful and (at is None or at in crashed or len(crashed) == MOST_CRASHES):
                raise PolyglanceError(
                    f"{part.place}: the process that embeds it ends again and again, at no image "
                    "in particular; is there enough memory for --workers?"
                )
            if careful and at is not None:
                crashed.append(at)
            careful = True

    def _try(
        self, part: Part, told: Callable[[int], None], crashed: list[int], careful: bool
    ) -> tuple[Counts | None, int, int | None]:
        """What came of the part, or None; the images told to be done; and the last one begun."""
        pipe, _ = self._apart.pipe()
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
                told(answer.get("done", 0))
        except (EOFError, ConnectionError):
            self.close()
            return None, done, at

    def close(self) -> None:
        """End the process."""
        self._apart.close()


def _serve(pipe: Connection, place: str) -> None:
    """Embed what is asked for until the other side is gone; answers are JSON, never pickles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # there are as many processes as cores
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
        except Exception as error:  # of a file system, or a network
            reason = (str(error).splitlines() or [""])[0]
            send({"failed": f"{type(error).__name__}: {reason}"})


def _end_with_parent() -> None:
    """A killed parent closes no pipe that others hold: end when it is gone."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def open_work(place: str) -> Work:
    """What embeds parts into a folder of shards, with the model that the folder names."""
    from polyglance.library.library import load_encoder

    folder = Folder(place)
    mark = read_mark(folder)
    model, _ = load_encoder(mark.model_folder or None)
    if model.id != mark.model:
        raise PolyglanceError(
            f"{mark.model_folder or 'the model'}: is not the one that {place} was begun with; "
            "name that one with --model, or embed into a new folder"
        )
    return Work(folder, mark, model)
