"""What requests are answered from: a collection and a model, which may be exchanged meanwhile."""

import threading

from polyglance.runtime import ExportedModel
from polyglance.serve.access.metrics import Metrics
from polyglance.serve.encoding.decoding import PROCESSES
from polyglance.serve.encoding.engine import PICTURES, Engine, Served
from polyglance.serve.encoding.lanes import Lane
from polyglance.serve.images.collection import Collection

WAITING, BATCHES = 256, 16
"""Requests that have a picture, and that have many, at a time; more are turned away."""
_ANY = "a picture"


class Service:
    """Hands out what is served now."""

    def __init__(self, collection: Collection) -> None:
        self.metrics = Metrics()
        self._now = Served(collection, self._engine(collection.model))
        self._warm = threading.Event()
        self.pictures = Lane(PROCESSES + PICTURES, WAITING)
        """Of requests with a picture: some are decoded while others are encoded together."""
        self.batches = Lane(1, BATCHES)
        """Of requests with many pictures, one at a time."""
        self.metrics.pictures.set_function(lambda: len(self._now.collection))

    @property
    def now(self) -> Served:
        """What a request that begins now is answered from."""
        return self._now

    @property
    def ready(self) -> bool:
        """Whether all that the first request would wait for is there."""
        return self._warm.is_set()

    def warm(self) -> None:
        """Read and compute what the first request would wait for."""
        _prepare(*self._now)
        self._warm.set()

    def exchange(self, collection: Collection) -> None:
        """Serve other images from now on; requests under way keep those that they began with."""
        engine = self._now.engine
        if engine.model.id != collection.model.id:
            engine = self._engine(collection.model)
        _prepare(collection, engine)
        before, self._now = self._now, Served(collection, engine)
        self.metrics.reloads.inc()
        if before.engine is not engine:
            before.engine.retire()

    def close(self) -> None:
        """End threads and processes."""
        self.pictures.close()
        self.batches.close()
        self._now.engine.close()

    def _engine(self, model: ExportedModel) -> Engine:
        return Engine(model, self.metrics.batch)


def _prepare(collection: Collection, engine: Engine) -> None:
    """Names, facts, what scores are calibrated with, and the model's graphs."""
    _ = collection.names, collection.facts
    engine.texts([_ANY])
    if len(collection):
        collection.scorer.prepare()
