"""The service: a collection and a model, which can be replaced while it runs."""

import threading
from collections.abc import Callable

from polyglance.core.progress import listening
from polyglance.runtime import ExportedModel
from polyglance.serve.access.metrics import Metrics
from polyglance.serve.encoding.decoding import PROCESSES
from polyglance.serve.encoding.engine import IMAGES, Engine, Served
from polyglance.serve.encoding.lanes import LATER, Lane
from polyglance.serve.images.collection import Collection
from polyglance.serve.problems import Problem

WAITING, BATCHES = 256, 16
"""Largest numbers of waiting requests with one image and with many; more are rejected."""
_ANY = "a picture"


class _Stopped(BaseException):
    """The service stops before the images are there; nothing may catch this as an error."""


class Service:
    """Provides what is currently served."""

    def __init__(self, served: Collection | Callable[[], Collection]) -> None:
        """
        Args:
            served: the collection, or a function that opens it when the service starts; until then
                requests that need it are answered with status 503.
        """
        self.metrics = Metrics()
        self._now: Served | None = None
        self._open: Callable[[], Collection] | None = None
        self.opened = threading.Event()
        """Set when there is a collection, or a `failure`."""
        self.failure: Exception | None = None
        """Why the collection could not be opened."""
        self.progress: tuple[int, int] | None = None
        """Images that have been indexed, and their number, while the collection is opened."""
        self._stopped = threading.Event()
        if isinstance(served, Collection):
            self._set(served)
        else:
            self._open = served
        self._warm = threading.Event()
        self.images = Lane(PROCESSES + IMAGES, WAITING)
        """For requests with an image: some are decoded while others are encoded together."""
        self.batches = Lane(1, BATCHES)
        """For requests with many images, one at a time."""
        self.texts = Lane(2, BATCHES)
        """For requests with many texts, which would otherwise occupy the threads of searches."""
        self.metrics.images.set_function(
            lambda: 0 if self._now is None else len(self._now.collection)
        )

    @property
    def now(self) -> Served:
        """The collection and engine for a new request; a problem until it is opened."""
        if self._now is None:
            done = (
                "" if self.progress is None else f" ({self.progress[0]:,} of {self.progress[1]:,})"
            )
            raise Problem(
                503,
                f"the images are still being indexed{done}; try again in {LATER} s",
                {"retry-after": str(LATER)},
            )
        return self._now

    @property
    def ready(self) -> bool:
        """Whether everything that the first request needs is loaded."""
        return self._warm.is_set()

    def warm(self) -> None:
        """Open the collection, and load and compute what the first request needs."""
        if self._open is not None:
            try:
                with listening(self._advanced):
                    self._set(self._open())
            except _Stopped:
                return
            except Exception as error:  # for the thread that runs the service
                self.failure = error
                self.opened.set()
                return
            self._open = None
        _prepare(*self.now)
        self._warm.set()

    def exchange(self, collection: Collection) -> None:
        """Serve another collection from now on; requests in progress keep the old one."""
        engine = self.now.engine
        if engine.model.id != collection.model.id:
            engine = self._engine(collection.model)
        _prepare(collection, engine)
        before, self._now = self.now, Served(collection, engine)
        self.metrics.reloads.inc()
        if before.engine is not engine:
            before.engine.retire()

    def reload_failed(self) -> None:
        """Count a failed reload."""
        self.metrics.failed_reloads.inc()

    def stop_opening(self) -> None:
        """Stop indexing, if that is in progress; the next start continues there."""
        self._stopped.set()

    def close(self) -> None:
        """Stop threads and processes."""
        self.images.close()
        self.batches.close()
        self.texts.close()
        if self._now is not None:
            self._now.engine.close()

    def _set(self, collection: Collection) -> None:
        self._now = Served(collection, self._engine(collection.model))
        self.opened.set()

    def _advanced(self, done: int, total: int) -> None:
        self.progress = done, total
        if self._stopped.is_set():
            raise _Stopped

    def _engine(self, model: ExportedModel) -> Engine:
        return Engine(model, self.metrics.batch)


def _prepare(collection: Collection, engine: Engine) -> None:
    """Load names, facts, calibration and the model's graphs."""
    _ = collection.names, collection.facts
    engine.texts([_ANY])
    if len(collection):
        collection.scorer.prepare()
