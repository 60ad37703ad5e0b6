"""(model, transform, tokenizer), as CLIP_benchmark loads models; both need torch.

After `pip install clip-benchmark`, register it as a model type:

    from clip_benchmark import models
    models.TYPE2FUNC["polyglance"] = load_polyglance
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyglance.adapters.common import opened, vectors
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel


class TextList(list[str]):
    """Texts in place of CLIP_benchmark's tokens: the model tokenizes them itself, on the CPU."""

    def to(self, device: Any) -> "TextList":
        """Return self: texts stay on the CPU."""
        return self


class ClipModel:
    """`encode_image` and `encode_text` of an exported model, returning tensors."""

    def __init__(self, model: ExportedModel) -> None:
        self.model = model

    def eval(self) -> "ClipModel":
        """Return self: an exported model has no training mode."""
        return self

    def to(self, device: Any) -> "ClipModel":
        """Return self: the model stays on the CPU."""
        return self

    def encode_image(self, pixels: Any) -> Any:
        """Embeddings [n, D] of preprocessed images [n, 3, size, size]."""
        import torch

        found = self.model.images.embed_pixels(pixels.cpu().float().numpy())
        missing = np.full(self.model.dim, np.nan, np.float32)
        rows = [missing if row is None else row for row in found]
        return torch.from_numpy(np.stack(rows)).to(pixels.device)

    def encode_text(self, texts: Sequence[str]) -> Any:
        """Embeddings [n, D] of texts."""
        import torch

        return torch.from_numpy(vectors(self.model, list(texts)))


def load_polyglance(
    model_name: str | None = None,
    pretrained: str | None = None,
    cache_dir: str | None = None,
    device: Any = "cpu",
) -> tuple[ClipModel, Any, type[TextList]]:
    """(model, transform, tokenizer) of an exported model.

    Args:
        model_name: its folder; the included model if empty.
        pretrained: ignored.
        cache_dir: ignored.
        device: ignored; the model runs on the CPU.
    """
    import torch

    model = opened(model_name or None)
    if not isinstance(model, ExportedModel):
        raise PolyglanceError(
            f"{model_name}: export it first ('polyglance export MODEL --onnx OUT')"
        )
    preprocessing = model.images.preprocessing

    def transform(image: Any) -> Any:
        return torch.from_numpy(preprocessing.apply(image.convert("RGB")))

    return ClipModel(model), transform, TextList
