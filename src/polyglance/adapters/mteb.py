"""MTEB's encoder: batches of texts and images, as its tasks hand them over."""

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
    """An `EncoderProtocol` of MTEB 2: `mteb.evaluate(MTEBEncoder(), tasks)`."""

    def __init__(
        self,
        model_name: "Model | ExportedModel | str | Path | None" = None,
        revision: str | None = None,
        **more: Any,
    ) -> None:
        """Args as MTEB gives them.

        Args:
            model_name: a model, its folder, or None for the one that the package carries.
            revision: of no use here.
            **more: a device and other things that mean nothing here.
        """
        self.model = opened(model_name)

    def encode(self, inputs: Iterable[Mapping[str, Any]], **more: Any) -> np.ndarray:
        """Embeddings [n, D] of batches with a list of `text`, of `image`, or of both.

        Where an input has both, it is the sum of the two vectors at length one.

        Args:
            inputs: batches, as of a `DataLoader`.
            **more: the task and the kind of prompt, which mean nothing here.
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
        """Cosines [n, m] of embeddings [n, D] and [m, D]."""
        return cosine(np.atleast_2d(embeddings1), np.atleast_2d(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Cosines [n] of embeddings [n, D] and [n, D], one by one."""
        first, second = (normalise(np.atleast_2d(one)) for one in (embeddings1, embeddings2))
        return np.einsum("nd,nd->n", first, second)

    @property
    def mteb_model_meta(self) -> Any:
        """What MTEB keeps of a model beside its results."""
        meta = import_package("mteb", "mteb.models.model_meta").ModelMeta
        name = f"polyglance/{self.model.recipe.name}"
        return meta.create_empty({"name": name, "embed_dim": self.model.dim})
