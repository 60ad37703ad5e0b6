"""MTEB's encoder interface: batches of texts and images, as its tasks pass them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.adapters.common import opened, vectors
from polyglance.core.packages import import_package
from polyglance.numerics.similarity import cosine, normalise

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel


class MTEBEncoder:
    """An `EncoderProtocol` for MTEB 2: `mteb.evaluate(MTEBEncoder(), tasks)`."""

    def __init__(
        self,
        model_name: "Model | ExportedModel | str | Path | None" = None,
        revision: str | None = None,
        **more: Any,
    ) -> None:
        """The arguments that MTEB passes.

        Args:
            model_name: a model, its folder, or None for the included one.
            revision: ignored.
            **more: ignored, such as a device.
        """
        self.model = opened(model_name)

    def encode(self, inputs: Iterable[Mapping[str, Any]], **more: Any) -> np.ndarray:
        """Embeddings [n, D] of batches with lists of `text`, `image`, or both.

        The embedding of an input with both is the normalised sum of the two vectors.

        Args:
            inputs: batches, as from a `DataLoader`.
            **more: ignored, such as the task and the prompt type.
        """
        return np.concatenate([self._batch(batch) for batch in inputs])

    def _batch(self, batch: Mapping[str, Any]) -> np.ndarray:
        parts = []
        if batch.get("text") is not None:
            parts.append(normalise(vectors(self.model, list(batch["text"]))))
        if batch.get("image") is not None:
            images = self.model.encode_images(list(batch["image"]), show_progress=False)
            parts.append(normalise(np.asarray(images)))
        if not parts:
            raise ValueError(f"a batch has neither texts nor images, but {', '.join(batch)}")
        return parts[0] if len(parts) == 1 else normalise(sum(parts[1:], parts[0]))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Cosine similarities [n, m] of embeddings [n, D] and [m, D]."""
        return cosine(np.atleast_2d(embeddings1), np.atleast_2d(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Cosine similarities [n] of the rows of embeddings [n, D] and [n, D]."""
        first, second = (normalise(np.atleast_2d(one)) for one in (embeddings1, embeddings2))
        return np.einsum("nd,nd->n", first, second)

    @property
    def mteb_model_meta(self) -> Any:
        """The model metadata that MTEB stores with its results."""
        meta = import_package("mteb", "mteb.models.model_meta").ModelMeta
        name = f"polyglance/{self.model.recipe.name}"
        return meta.create_empty({"name": name, "embed_dim": self.model.dim})
