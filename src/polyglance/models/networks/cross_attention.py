"""Networks that compare all vectors of an image with all words of a caption (SCAN, IMRAM)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError
from polyglance.models.networks.attention import Sets
from polyglance.models.networks.imram import Imram
from polyglance.models.networks.network import Network, networks
from polyglance.models.networks.scan import Scan
from polyglance.models.networks.similarity import l2
from polyglance.recipes.schema import ImramRecipe, Recipe, ScanRecipe
from polyglance.recipes.schema.recipe import ONE_VECTOR
from polyglance.text.embedders import Embedder, TextBatch

CELLS = 1 << 22
"""Floats per tile of images × captions: 16 MiB for each intermediate result."""

matchings: Registry[Callable[[Any, int], Scan | Imram]] = Registry("matching")
"""By `joint.similarity.kind`: (settings, dimension) → module that scores queries and contexts."""
matchings.register("scan")(Scan)
matchings.register("imram")(Imram)


@networks.register("scan")
@networks.register("imram")
class CrossAttention(Network):
    """Towers that output sets of normalised vectors, scored by attention.

    A caption may also take the place of an image (c2c), since both are sets.
    """

    def __init__(self, recipe: Recipe, feature_dim: int, embedder: Embedder) -> None:
        super().__init__(recipe, feature_dim, embedder)
        settings, dim = recipe.joint.similarity, recipe.joint.dim
        assert isinstance(settings, ScanRecipe | ImramRecipe)
        names = ["t2i", "i2t"] if settings.direction == "both" else [settings.direction]
        kind = matchings.get(settings.kind)
        self.matching = nn.ModuleDict({name: kind(settings, dim) for name in names})

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Sets:
        """Sets [B, K, F] with lengths → sets of unit vectors [B, K, D]."""
        if lengths is None:
            raise PolyglanceError(f"the image features: {ONE_VECTOR}")
        return Sets(l2(self.image.vectors(features, lengths)), lengths)

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Sets:
        """Texts [B, T] of a language → sets of unit vectors [B, T, D]."""
        return Sets(l2(self.text.vectors(batch, language)), batch.lengths)

    def scores(self, images: Sets, captions: Sets) -> Tensor:
        """Scores [N, M] of sets, summed over the directions.

        Captions are scored in chunks of similar length. In training, chunks are recomputed for the
        gradient (checkpointing), so that memory is that of one chunk.
        """
        order = torch.argsort(captions.lengths, stable=True)
        chunks = order.split(self._captions_at_a_time(images, captions))
        score = self._scores
        if torch.is_grad_enabled() and len(chunks) > 1:
            score = partial(checkpoint, self._scores, use_reentrant=False)
        parts = [score(images, captions.take(rows)) for rows in chunks]
        return torch.cat(parts, 1)[:, torch.argsort(order)]

    def _captions_at_a_time(self, images: Sets, captions: Sets) -> int:
        parts = cast(Mapping[str, Scan | Imram], self.matching)
        pairs = (
            part.floats_per_pair(*_roles(name, images, captions)) for name, part in parts.items()
        )
        return max(1, CELLS // (max(pairs) * len(images.lengths)))

    def _scores(self, images: Sets, captions: Sets) -> Tensor:
        parts = []
        for name, matching in self.matching.items():
            found = matching(*_roles(name, images, captions))
            parts.append(found if name == "t2i" else found.t())
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def _roles(direction: str, images: Sets, captions: Sets) -> tuple[Sets, Sets]:
    """(queries, contexts) for a direction."""
    return (captions, images) if direction == "t2i" else (images, captions)
