"""`encode` and `similarity` like those of sentence-transformers, for texts and images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from polyglance.adapters.common import opened, vectors
from polyglance.errors import PolyglanceError
from polyglance.numerics.similarity import cosine, normalise

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel

PRECISIONS = ("float32", "int8")
DEFAULTS = {"output_value": "sentence_embedding"}
"""Values other than None of options that are not supported otherwise."""
IGNORED = {"device", "pool", "chunk_size", "task"}
"""Options that do not change the embeddings."""


class SentenceEncoder:
    """Encodes texts or Pillow images like a `SentenceTransformer`.

    `SentenceEncoder().encode(["a dog", "ein Hund"])` returns float32 [2, D].
    """

    def __init__(
        self,
        model: "Model | ExportedModel | str | Path | None" = None,
        truncate_dim: int | None = None,
    ) -> None:
        """Open a model.

        Args:
            model: a model, its folder, or None for the included one.
            truncate_dim: keep the first components of embeddings only; None keeps all.
        """
        self.model = opened(model)
        self.truncate_dim = truncate_dim
        self._kept(truncate_dim)

    def get_sentence_embedding_dimension(self) -> int:
        """Dimension of the embeddings."""
        return self._kept(self.truncate_dim)

    def encode(
        self,
        sentences: str | Image.Image | Sequence[str | Image.Image],
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        precision: str = "float32",
        truncate_dim: int | None = None,
        **more: Any,
    ) -> Any:
        """Embeddings [n, D], or [D] for a single text or image.

        Args:
            sentences: texts and Pillow images, in any mixture.
            batch_size: texts per forward pass.
            show_progress_bar: for images; None shows a bar in a terminal.
            convert_to_numpy: False returns a list of vectors.
            convert_to_tensor: return a torch tensor.
            normalize_embeddings: scale the vectors to length one, after truncation.
            precision: float32, or int8: 256 steps between the least and largest value of each
                component in these embeddings.
            truncate_dim: keep the first components only; None is that of the encoder.
            **more: `device` and the options of several processes are ignored; others, such as
                prompts and `output_value="token_embeddings"`, are errors.
        """
        _refuse(more)
        if precision not in PRECISIONS:
            raise PolyglanceError(f"precision='{precision}': must be {' or '.join(PRECISIONS)}")
        kept = self._kept(self.truncate_dim if truncate_dim is None else truncate_dim)
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
        found = found[:, :kept]
        if normalize_embeddings:
            found = normalise(found)
        if precision == "int8":
            found = _in_8_bits(found)
        if convert_to_tensor:
            import torch

            return torch.from_numpy(found[0] if single else found)
        if single:
            return found[0]
        return found if convert_to_numpy else list(found)

    def encode_query(self, sentences: Any, **options: Any) -> Any:
        """`encode`: queries and documents are embedded alike."""
        return self.encode(sentences, **options)

    def encode_document(self, sentences: Any, **options: Any) -> Any:
        """`encode`, likewise."""
        return self.encode(sentences, **options)

    def similarity(self, first: Any, second: Any) -> np.ndarray:
        """Cosine similarities [n, m] of embeddings [n, D] and [m, D]."""
        return cosine(np.atleast_2d(first), np.atleast_2d(second))

    def _kept(self, truncate_dim: int | None) -> int:
        """The dimension after truncation."""
        if truncate_dim is None:
            return self.model.dim
        if not 1 <= truncate_dim <= self.model.dim:
            raise PolyglanceError(f"truncate_dim={truncate_dim}: must be 1 to {self.model.dim}")
        return truncate_dim


def _refuse(options: dict[str, Any]) -> None:
    """Raise an error for options that would change the embeddings."""
    for name, value in options.items():
        if name not in IGNORED and value != DEFAULTS.get(name):
            raise PolyglanceError(f"{name}={value!r}: is not supported by this model")


def _in_8_bits(vectors: np.ndarray) -> np.ndarray:
    """Integers from -128 to 127, by the ranges of these vectors [n, D]."""
    if len(vectors) < 2:
        raise PolyglanceError(
            "precision='int8' takes ranges from the embeddings themselves: encode many at once"
        )
    least, largest = vectors.min(0), vectors.max(0)
    steps = np.maximum((largest - least) / 255, np.finfo(np.float32).tiny)
    return np.clip((vectors - least) / steps - 128, -128, 127).astype(np.int8)
