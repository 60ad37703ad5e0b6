"""The image tower of a recipe."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Kinds, Section, Variant


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


class BackboneRecipe(Section):
    """The image network in the tower, trained with it (Chen et al. 2021, VSE∞, grid rows).

    Its batch norm stays as it came. Images are decoded while the network trains.
    """

    name: str | None = Field(None, description="the network; null is that of image.feature")
    train: Literal["none", "last", "all"] = Field(
        "all", description="stages that are trained: none, the last, or all"
    )
    input_size: Annotated[int, Field(ge=32, le=2048)] | None = Field(
        None, description="pixels of a side; null is the network's own"
    )
    crop: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="share of the short side that evaluation sees; null is the network's own"
    )
    mean: tuple[float, float, float] | None = Field(
        None, description="of pixels from 0 to 255; null is the network's own"
    )
    std: tuple[float, float, float] | None = Field(
        None, description="that pixels are divided by; null is the network's own"
    )
    interpolation: Literal["bicubic", "bilinear", "nearest", "lanczos"] | None = Field(
        None, description="of resized images; null is the network's own"
    )
    squash: bool = Field(
        False, description="images lose their proportions instead of their ends, as in VSE∞'s code"
    )
    whole: bool = Field(
        False,
        description="evaluation sees the whole image, squashed, beside its centre; the mean of "
        "both vectors counts. Takes twice the time",
    )
    smallest_crop: float = Field(
        0.6, gt=0, le=1, description="share of a side that a crop in training has at least"
    )
    flip: bool = Field(True, description="every other image is mirrored in training")
    views: Annotated[int, Field(ge=1, le=64)] | None = Field(
        None,
        description="fixed crops of each image, those of evaluation first, of which frozen "
        "stages see each once and what they give is kept on disk; null is a new crop every time",
    )
    keep: float = Field(
        0.0,
        ge=0,
        description="weight of KL(class probabilities of the network as it came ‖ as it is), so "
        "that it does not forget its classes (Li and Hoiem 2016); with head.kind=classes and views",
    )
    frozen_epochs: int = Field(1, ge=0, description="first epochs in which it is not trained")
    stage_epochs: int = Field(
        0, ge=0, description="epochs that each stage waits for the one behind it; 0 is none"
    )
    multiplier: float = Field(0.1, ge=0, description="factor of lr, of the last stage")
    lower_multiplier: float = Field(0.1, ge=0, description="factor of lr, of all other stages")
    chunk: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="images whose activations are in memory at a time, the others' being computed "
        "again; null is all of a batch",
    )


class ImageRecipe(Section):
    """The image tower: precomputed features, or those of a network in it → joint space."""

    feature: str = Field(
        "efficientnet-lite2/global",
        description="EXTRACTOR/global, /grid, /gridN, /tencropN or imported/NAME",
    )
    backbone: BackboneRecipe | None = Field(
        None,
        description="the feature's network as part of the tower; null is features computed once",
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

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        extractor, _, form = self.feature.rpartition("/")
        if self.backbone is None:
            return self
        name = self.backbone.name
        if extractor == "imported" or form.startswith("tencrop"):
            raise ValueError(
                f"backbone sees images, and feature={self.feature} does not come from one pass "
                "over them; set feature=efficientnet-lite2/grid, or backbone=null"
            )
        if name not in (None, extractor):
            raise ValueError(
                f"feature={self.feature} and backbone.name={name} are two networks; "
                f"set feature={name}/{form}"
            )
        if self.backbone.views is not None and self.backbone.train == "all":
            raise ValueError(
                "backbone.views keeps what frozen stages make of an image, and train=all freezes "
                "none; set backbone.train=last, or backbone.views=null"
            )
        if self.backbone.whole and (self.backbone.squash or form != "global"):
            raise ValueError(
                "backbone.whole takes the mean of the centre's vector and the whole's: "
                "set feature=…/global and backbone.squash=false, or backbone.whole=false"
            )
        if self.backbone.keep and (self.head.kind != "classes" or self.backbone.views is None):
            raise ValueError("backbone.keep needs head.kind=classes and backbone.views")
        return self

    @property
    def is_global(self) -> bool:
        """Whether the feature's name says that an image is one vector; imported ones do not say."""
        extractor, _, form = self.feature.rpartition("/")
        return extractor != "imported" and (form == "global" or form.startswith("tencrop"))
