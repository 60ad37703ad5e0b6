"""A model behind a service: texts and images of concurrent requests are encoded together."""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from polyglance.evaluation.encoder import encode_quietly
from polyglance.runtime import ExportedModel
from polyglance.serve.encoding.batching import Batcher
from polyglance.serve.encoding.decoding import Decoder
from polyglance.serve.images.collection import Collection
from polyglance.serve.problems import Problem

TEXTS, IMAGES = 64, 8
"""Largest batches."""

RETIRED = 120.0
"""Seconds for which requests may still use a replaced model."""

OnBatch = Callable[[str, int], object]
"""Called with "texts" or "pictures" and the size of each batch."""


class Engine:
    """Encodes for a service; thread-safe."""

    def __init__(self, model: ExportedModel, on_batch: OnBatch | None = None) -> None:
        self.model = model
        self.decoder = Decoder(model.images.preprocessing)
        say = on_batch or (lambda kind, count: None)
        self._texts: Batcher[str, np.ndarray] = Batcher(
            self._encode, TEXTS, lambda count: say("texts", count)
        )
        self._images: Batcher[np.ndarray, np.ndarray | None] = Batcher(
            self._embed, IMAGES, lambda count: say("pictures", count)
        )

    def text(self, text: str, language: str | None = None) -> np.ndarray:
        """The embedding [D] of a text."""
        return self._texts(language, text)

    def texts(self, texts: Sequence[str], language: str | None = None) -> np.ndarray:
        """Embeddings [n, D] of texts; single ones of other requests take precedence."""
        return np.stack(self._texts.many(language, texts))

    def image(self, data: bytes) -> np.ndarray:
        """The embedding [D] of an untrusted image file's bytes."""
        return _known(self._images(None, self.decoder(data)))

    def images(self, files: Sequence[bytes]) -> np.ndarray:
        """Embeddings [n, D] of files' bytes; single ones of other requests take precedence."""
        spared = max(1, len(self.decoder.processes) - 1)  # leave one for searches
        with ThreadPoolExecutor(spared) as threads:
            pixels = list(threads.map(self.decoder, files))
        return np.stack([_known(one) for one in self._images.many(None, pixels)])

    def retire(self) -> None:
        """Close after the requests that use it must have finished."""
        timer = threading.Timer(RETIRED, self.close)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Stop its threads and decoding processes."""
        self._texts.close()
        self._images.close()
        self.decoder.close()

    def _encode(self, language: Hashable, texts: list[str]) -> list[np.ndarray]:
        assert language is None or isinstance(language, str)
        return list(np.asarray(encode_quietly(self.model, texts, language)))

    def _embed(self, _: Hashable, pixels: list[np.ndarray]) -> list[np.ndarray | None]:
        return self.model.images.embed_pixels(np.stack(pixels))


def _known(found: np.ndarray | None) -> np.ndarray:
    if found is None:
        raise Problem(422, "the image cannot be read: the model returned no embedding")
    return found


class Served(NamedTuple):
    """The collection and engine that a request uses from start to end."""

    collection: Collection
    engine: Engine
