"""The service: a collection and a model, which can be replaced while it runs."""

import threading

from polyglance.runtime import ExportedModel
from polyglance.serve.access.metrics import Metrics
from polyglance.serve.encoding.decoding import PROCESSES
from polyglance.serve.encoding.engine import IMAGES, Engine, Served
from polyglance.serve.encoding.lanes import Lane
from polyglance.serve.images.collection import Collection

WAITING, BATCHES = 256, 16
"""Largest numbers of waiting requests with one image and with many; more are rejected."""
_ANY = "a picture"


class Service:
    """Provides what is currently served."""

    def __init__(self, collection: Collection) -> None:
        self.metrics = Metrics()
        self._now = Served(collection, self._engine(collection.model))
        self._warm = threading.Event()
        self.images = Lane(PROCESSES + IMAGES, WAITING)
        """For requests with an image: some are decoded while others are encoded together."""
        self.batches = Lane(1, BATCHES)
        """For requests with many images, one at a time."""
        self.texts = Lane(2, BATCHES)
        """For requests with many texts, which would otherwise occupy the threads of searches."""
        self.metrics.images.set_function(lambda: len(self._now.collection))

    @property
    def now(self) -> Served:
        """The collection and engine for a new request."""
        return self._now

    @property
    def ready(self) -> bool:
        """Whether everything that the first request needs is loaded."""
        return self._warm.is_set()

    def warm(self) -> None:
        """Load and compute what the first request needs."""
        _prepare(*self._now)
        self._warm.set()

    def exchange(self, collection: Collection) -> None:
        """Serve another collection from now on; requests in progress keep the old one."""
        engine = self._now.engine
        if engine.model.id != collection.model.id:
            engine = self._engine(collection.model)
        _prepare(collection, engine)
        before, self._now = self._now, Served(collection, engine)
        self.metrics.reloads.inc()
        if before.engine is not engine:
            before.engine.retire()

    def reload_failed(self) -> None:
        """Count a failed reload."""
        self.metrics.failed_reloads.inc()

    def close(self) -> None:
        """Stop threads and processes."""
        self.images.close()
        self.batches.close()
        self.texts.close()
        self._now.engine.close()

    def _engine(self, model: ExportedModel) -> Engine:
        return Engine(model, self.metrics.batch)


def _prepare(collection: Collection, engine: Engine) -> None:
    """Load names, facts, calibration and the model's graphs."""
    _ = collection.names, collection.facts
    engine.texts([_ANY])
    if len(collection):
        collection.scorer.prepare()
