"""Heads of the image tower: from a feature vector to the joint space."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from polyglance.core.registry import Registry
from polyglance.numerics.batch_norm import BatchNorm
from polyglance.numerics.products import Linear
from polyglance.recipes.schema import (
    BatchNormMlpHead,
    ClassesHead,
    HeadRecipe,
    LinearHead,
    MlpHead,
    ResidualMlpHead,
)

heads: Registry[Callable[[Any, int, int, float], nn.Module]] = Registry("head")
"""By `image.head.kind`: (recipe, feature dimension, joint dimension, dropout) → layers."""


NEAR_ZERO = 1e-3
"""Standard deviation of weights that start close to zero."""


def xavier_linear(inputs: int, outputs: int) -> Linear:
    """Linear with weights U(−r, r), r = √6/√(in+out) (Glorot and Bengio 2010, eq. 16), bias 0.

    VSE++'s code initialises its image layer like this.
    """
    layer = Linear(inputs, outputs)
    bound = math.sqrt(6.0) / math.sqrt(inputs + outputs)
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)
    return layer


class ResidualMLP(nn.Module):
    """Linear(F→D) plus Linear(F→H)–BN–ReLU–Linear(H→D), VSE∞'s head of regions.

    Chen et al. 2021, supplement §1.1; `lib/encoders.py` of the official code.

    The tower passes valid vectors only, so its statistics exclude padding; the official code also
    counts the zero rows that pad short sets, which makes a vector depend on the sizes of other
    sets. The paper has F 2048, H 512, D 1024.

    Args:
        inputs: F.
        hidden: H.
        outputs: D.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.linear = xavier_linear(inputs, outputs)
        self.mlp = nn.Sequential(
            Linear(inputs, hidden), BatchNorm(hidden), nn.ReLU(), Linear(hidden, outputs)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """[n, F] → [n, D]."""
        return self.linear(vectors) + self.mlp(vectors)


@heads.register("linear")
def _linear(recipe: LinearHead, inputs: int, outputs: int, dropout: float) -> nn.Module:
    """One linear layer."""
    return xavier_linear(inputs, outputs)


@heads.register("classes")
def _classes(recipe: ClassesHead, inputs: int, outputs: int, dropout: float) -> nn.Module:
    """The linear part; the tower adds the `ClassMixture`, which takes features as extracted.

    If class vectors start as names, it starts near 0, so that it does not dominate them.
    """
    layer = xavier_linear(inputs, outputs)
    if recipe.start == "names":
        nn.init.normal_(layer.weight, std=NEAR_ZERO)
    return layer


@heads.register("mlp")
def _mlp(recipe: MlpHead, inputs: int, outputs: int, dropout: float) -> nn.Module:
    """Linear–GELU–Dropout–Linear."""
    first, last = Linear(inputs, recipe.hidden), Linear(recipe.hidden, outputs)
    return nn.Sequential(first, nn.GELU(), nn.Dropout(dropout), last)


@heads.register("residual-mlp")
def _residual_mlp(recipe: ResidualMlpHead, inputs: int, outputs: int, dropout: float) -> nn.Module:
    """`ResidualMLP` of the recipe's hidden dimension."""
    return ResidualMLP(inputs, recipe.hidden, outputs)


@heads.register("bn-mlp")
def _bn_mlp(recipe: BatchNormMlpHead, inputs: int, outputs: int, dropout: float) -> nn.Module:
    """Linear–BN–ReLU–Dropout–Linear, the image branch of two-branch networks (EmbN) and MULE.

    Wang et al. 2018, "Learning Two-Branch Neural Networks for Image-Text Matching Tasks", with
    2,048 hidden units. In MULE's code the running statistics are nearly those of the last
    batch: momentum 0.1 of TensorFlow is 0.9 of torch.
    """
    norm = BatchNorm(recipe.hidden, momentum=0.9)
    first, last = Linear(inputs, recipe.hidden), Linear(recipe.hidden, outputs)
    return nn.Sequential(first, norm, nn.ReLU(), nn.Dropout(dropout), last)


def build_head(recipe: HeadRecipe, inputs: int, outputs: int, dropout: float = 0.0) -> nn.Module:
    """The head of a recipe.

    Args:
        recipe: the section `image.head`.
        inputs: F, the dimension of a feature vector.
        outputs: D, the dimension of the joint space; the head takes [n, F] to [n, D].
        dropout: on the hidden units of an MLP.
    """
    return heads.get(recipe.kind)(recipe, inputs, outputs, dropout)
