"""`encode` and `similarity` like those of sentence-transformers, for texts and images."""

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
    """Encodes texts or Pillow images like a `SentenceTransformer`.

    `SentenceEncoder().encode(["a dog", "ein Hund"])` returns float32 [2, D].
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
        """Embeddings [n, D], or [D] for a single text or image.

        Args:
            sentences: texts and Pillow images, in any mixture.
            batch_size: texts per forward pass.
            show_progress_bar: for images; None shows a bar in a terminal.
            convert_to_numpy: False returns a list of vectors.
            convert_to_tensor: return a torch tensor.
            normalize_embeddings: scale the vectors to length one.
            **more: ignored options, such as prompts and devices.
        """
        single = isinstance(sentences, str | Image.Image)
        inputs: list[Any] = [sentences] if single else list(sentences)  # type: ignore[arg-type]
        found = np.empty((len(inputs), self.model.dim), np.float32)
        texts = [i for i, one in enumerate(inputs) if isinstance(one, str)]
        images = [i for i, one in enumerate(inputs) if not isinstance(one, str)]
        if texts:
            found[texts] = vectors(self.model, [str(inputs[i]) for i in texts], batch_size)
        if images:
            found[images] = self.model.encode_images(
                [inputs[i] for i in images], show_progress=show_progress_bar
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
        """Cosine similarities [n, m] of embeddings [n, D] and [m, D]."""
        return cosine(np.atleast_2d(first), np.atleast_2d(second))
