"""A GRU or BiGRU over the words of a text."""

import torch
from torch import Tensor, nn

from polyglance.numerics.recurrent import PackedGRU
from polyglance.recipes.schema import BiGruRecipe, CompatRecipe, GruRecipe, TextRecipe
from polyglance.text.encoders.base import encoders


@encoders.register("gru")
@encoders.register("bigru")
class GruEncoder(PackedGRU):
    """States of a GRU; two directions are averaged or concatenated (Kádár et al. 2018, §3).

    Args:
        recipe: of the text tower.
        inputs: dimension of a word vector.
        compat: whether to ignore lengths, as some authors' code does.
    """

    part = "gru"

    def __init__(self, recipe: TextRecipe, inputs: int, compat: CompatRecipe) -> None:
        settings = recipe.encoder
        assert isinstance(settings, GruRecipe | BiGruRecipe)
        both = isinstance(settings, BiGruRecipe)
        super().__init__(inputs, settings.hidden, both, settings.biases)
        self.average = isinstance(settings, BiGruRecipe) and settings.directions == "average"
        self.unpacked = compat.unpacked
        if settings.initial == "orthogonal":
            self._make_orthogonal()

    def _make_orthogonal(self) -> None:
        """Weights [3H, …] orthogonal across all three gates, biases 0, as in HGR's code."""
        for name, parameter in self.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(  # type: ignore[override]
        self, words: Tensor, index: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Word vectors [U, W], index [B, T] into them → states [B, T, D], lengths [B]."""
        steps = torch.full_like(lengths, index.shape[1]) if self.unpacked else lengths
        if torch.jit.is_tracing():
            both = self.traced(words[index], steps)
            halves = both.chunk(2, 2) if self.average else [both]
            return torch.stack(list(halves)).mean(0), lengths
        states, packing = self.encode(words, index, steps, self.average)
        padded = states.new_zeros(index.numel(), states.shape[1])
        return padded.index_copy(0, packing.flat, states).view(*index.shape, -1), lengths
