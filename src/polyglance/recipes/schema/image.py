"""The image tower of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.sections import Kinds, Section, Variant


class LinearHead(Variant):
    """One linear layer."""

    kind: Literal["linear"] = "linear"


class _HiddenHead(Variant):
    hidden: int = Field(1024, gt=0, description="hidden units")


class MlpHead(_HiddenHead):
    """Linear, GELU, dropout, linear."""

    kind: Literal["mlp"] = "mlp"


class ResidualMlpHead(_HiddenHead):
    """A linear layer plus an MLP with batch normalisation (Chen et al. 2021, VSE∞)."""

    kind: Literal["residual-mlp"] = "residual-mlp"


class BatchNormMlpHead(_HiddenHead):
    """Linear, batch normalisation, ReLU, dropout, linear (EmbN's image branch)."""

    kind: Literal["bn-mlp"] = "bn-mlp"


class ClassesHead(Variant):
    """A linear layer plus a mixture of class vectors (ConSE, Norouzi et al. 2014)."""

    kind: Literal["classes"] = "classes"
    classes: int = Field(1000, gt=0, description="of the backbone's classifier")
    temperature: float = Field(2.0, gt=0, description="that logits are divided by")
    top: int = Field(20, gt=0, description="classes of an image; the others count as 0")
    start: Literal["random", "names"] = Field(
        "random", description="how class vectors begin; names: as the text tower embeds their names"
    )
    lexicon: str | None = Field(
        None, description="lexicon.tsv.gz with the names; null is $POLYGLANCE_LEXICON"
    )


HeadRecipe = Annotated[
    LinearHead | MlpHead | ResidualMlpHead | BatchNormMlpHead | ClassesHead, Kinds()
]


class ImageRecipe(Section):
    """The image tower: precomputed features → joint space."""

    feature: str = Field(
        "efficientnet-lite2/global",
        description="EXTRACTOR/global, /grid, /gridN, /tencropN or imported/NAME",
    )
    standardise: bool = Field(False, description="centre and scale features by training statistics")
    unit: bool = Field(False, description="scale features to length 1")
    head: HeadRecipe = Field(LinearHead(), description="layers from feature to joint space")
    dropout: float = Field(0.0, ge=0, lt=1, description="on features, and inside an MLP head")
    output_dropout: float = Field(0.0, ge=0, lt=1, description="behind the head")
    attention: bool = Field(False, description="self-attention among a set's vectors, first")
    activation: Literal["none", "leaky-relu"] = Field("none", description="after the head")
    normalise: bool = Field(False, description="scale a set's vectors to length 1 before pooling")
    pooling: str = Field("mean", description="how a set of vectors becomes one")

    @property
    def is_global(self) -> bool:
        """Whether the feature's name says that an image is one vector; imported ones do not say."""
        extractor, _, form = self.feature.rpartition("/")
        return extractor != "imported" and (form == "global" or form.startswith("tencrop"))
