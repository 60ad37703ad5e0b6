"""Heads of the image tower: a feature vector → the joint space."""

import math

from torch import Tensor, nn
from torch.nn import functional

from polyglance.recipes.schema import (
    BatchNormMlpHead,
    HeadRecipe,
    LinearHead,
    ResidualMlpHead,
)


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """Linear with weights U(−r, r), r = √6/√(in+out), and zero bias (spec §2.2)."""
    layer = nn.Linear(inputs, outputs)
    bound = math.sqrt(6.0) / math.sqrt(inputs + outputs)
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)
    return layer


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation of [n, D]; a single vector, which has no deviation, takes the running
    statistics."""

    def forward(self, vectors: Tensor) -> Tensor:
        """[n, D] → [n, D]."""
        if self.training and len(vectors) == 1:
            return functional.batch_norm(
                vectors, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(vectors)


class ResidualMLP(nn.Module):
    """Linear(F→D) plus Linear(F→H)–BN–ReLU–Linear(H→D), VSE∞'s head of regions (spec §2.5).

    The tower gives it valid vectors only, so its statistics leave padding out; the official
    code counts the zero rows behind short sets too, which makes a vector depend on the others'
    sizes. The paper has F 2048, H 512, D 1024.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.linear = xavier_linear(inputs, outputs)
        self.mlp = nn.Sequential(
            nn.Linear(inputs, hidden), BatchNorm(hidden), nn.ReLU(), nn.Linear(hidden, outputs)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """[n, F] → [n, D]."""
        return self.linear(vectors) + self.mlp(vectors)


def bn_mlp(inputs: int, hidden: int, outputs: int, dropout: float) -> nn.Sequential:
    """Linear–BN–ReLU–Dropout–Linear, EmbN's image branch (spec §5.1; the paper's hidden is 2048).

    MULE's running statistics are nearly those of the last batch: momentum 0.1 in TensorFlow's
    words is 0.9 in torch's.
    """
    norm = BatchNorm(hidden, momentum=0.9)
    first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    return nn.Sequential(first, norm, nn.ReLU(), nn.Dropout(dropout), last)


def mlp(inputs: int, hidden: int, outputs: int, dropout: float) -> nn.Sequential:
    """Linear–GELU–Dropout–Linear."""
    first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    return nn.Sequential(first, nn.GELU(), nn.Dropout(dropout), last)


def build_head(recipe: HeadRecipe, inputs: int, outputs: int, dropout: float = 0.0) -> nn.Module:
    """The head of a recipe, which takes [n, F] to [n, D].

    Args:
        recipe: the head's own section.
        inputs: dimension F of a feature.
        outputs: dimension D of the joint space.
        dropout: on the hidden units of an MLP.
    """
    if isinstance(recipe, LinearHead):
        return xavier_linear(inputs, outputs)
    if isinstance(recipe, ResidualMlpHead):
        return ResidualMLP(inputs, recipe.hidden, outputs)
    build = bn_mlp if isinstance(recipe, BatchNormMlpHead) else mlp
    return build(inputs, recipe.hidden, outputs, dropout)
