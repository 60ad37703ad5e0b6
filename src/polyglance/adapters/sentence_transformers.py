"""`encode` and `similarity` as sentence-transformers has them, of texts and images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from polyglance.adapters.common import opened, vectors
from polyglance.numerics.similarity import cosine, normalise

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel


class SentenceEncoder:
    """Encodes like a `SentenceTransformer`: texts, or images of Pillow.

    `SentenceEncoder().encode(["a dog", "ein Hund"])` gives float32 [2, D].
    """

    def __init__(self, model: "Model | ExportedModel | str | Path | None" = None) -> None:
        self.model = opened(model)

    def get_sentence_embedding_dimension(self) -> int:
        """Dimension of the embeddings."""
        return self.model.dim

    def encode(
        self,
        sentences: str | Image.Image | Sequence[str | Image.Image],
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        **more: Any,
    ) -> Any:
        """Embeddings [n, D], or [D] of one text or image.

        Args:
            sentences: texts and images of Pillow, mixed as one likes.
            batch_size: texts that the network sees at a time.
            show_progress_bar: of images; None shows a bar on a terminal.
            convert_to_numpy: False gives a list of vectors.
            convert_to_tensor: whether to give a tensor of torch.
            normalize_embeddings: whether vectors have length one.
            **more: options that mean nothing here, such as prompts and devices.
        """
        single = isinstance(sentences, str | Image.Image)
        given: list[Any] = [sentences] if single else list(sentences)  # type: ignore[arg-type]
        found = np.empty((len(given), self.model.dim), np.float32)
        texts = [i for i, one in enumerate(given) if isinstance(one, str)]
        images = [i for i, one in enumerate(given) if not isinstance(one, str)]
        if texts:
            found[texts] = vectors(self.model, [str(given[i]) for i in texts], batch_size)
        if images:
            found[images] = self.model.encode_images(
                [given[i] for i in images], show_progress=show_progress_bar
            )
        if normalize_embeddings:
            found = normalise(found)
        if convert_to_tensor:
            import torch

            return torch.from_numpy(found[0] if single else found)
        if single:
            return found[0]
        return found if convert_to_numpy else list(found)

    def similarity(self, first: Any, second: Any) -> np.ndarray:
        """Cosines [n, m] of embeddings [n, D] and [m, D]."""
        return cosine(np.atleast_2d(first), np.atleast_2d(second))
