"""The image tower of a recipe."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Section, UnionByKind, Variant


class LinearHead(Variant):
    """One linear layer."""

    kind: Literal["linear"] = "linear"


class _HiddenHead(Variant):
    hidden: int = Field(1024, gt=0, description="hidden units")


class MlpHead(_HiddenHead):
    """Linear, GELU, dropout, linear."""

    kind: Literal["mlp"] = "mlp"


class ResidualMlpHead(_HiddenHead):
    """A linear layer plus an MLP with batch normalisation (VSE∞, supplement §1.1)."""

    kind: Literal["residual-mlp"] = "residual-mlp"


class BatchNormMlpHead(_HiddenHead):
    """Linear, batch normalisation, ReLU, dropout, linear (EmbN's image branch)."""

    kind: Literal["bn-mlp"] = "bn-mlp"


class ClassesHead(Variant):
    """A linear layer plus a mixture of class vectors (ConSE, Norouzi et al. 2014, Eq. 3)."""

    kind: Literal["classes"] = "classes"
    classes: int = Field(1000, gt=0, description="number of classes of the backbone's classifier")
    temperature: float = Field(2.0, gt=0, description="divides the logits")
    top: int = Field(20, gt=0, description="number of classes per image; the others count as 0")
    start: Literal["random", "names"] = Field(
        "random",
        description="initial class vectors; names: the text tower's embeddings of their names",
    )
    lexicon: str | None = Field(
        None, description="lexicon.tsv.gz with the names; null for $POLYGLANCE_LEXICON"
    )


HeadRecipe = Annotated[
    LinearHead | MlpHead | ResidualMlpHead | BatchNormMlpHead | ClassesHead, UnionByKind()
]


class BackboneRecipe(Section):
    """The image network in the tower, trained with it (VSE∞, grid rows; supplement §1.1).

    Its batch norm stays frozen. Images are decoded during training.
    """

    name: str | None = Field(None, description="the network; null for that of image.feature")
    train: Literal["none", "last", "all"] = Field(
        "all", description="stages to train: none, the last, or all"
    )
    input_size: Annotated[int, Field(ge=32, le=2048)] | None = Field(
        None, description="side in pixels; null for the network's own"
    )
    crop: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="share of the short side used in evaluation; null for the network's own"
    )
    mean: tuple[float, float, float] | None = Field(
        None, description="of pixels from 0 to 255; null for the network's own"
    )
    std: tuple[float, float, float] | None = Field(
        None, description="divides pixels; null for the network's own"
    )
    interpolation: Literal["bicubic", "bilinear", "nearest", "lanczos"] | None = Field(
        None, description="for resizing; null for the network's own"
    )
    squash: bool = Field(
        False, description="change images' proportions instead of cropping them, as in VSE∞'s code"
    )
    whole: bool = Field(
        False,
        description="in evaluation, use the mean of the centre's vector and that of the whole, "
        "squashed image. Takes twice the time",
    )
    smallest_crop: float = Field(
        0.6, gt=0, le=1, description="minimum share of a side in a training crop"
    )
    flip: bool = Field(True, description="mirror every other image in training")
    views: Annotated[int, Field(ge=1, le=64)] | None = Field(
        None,
        description="number of fixed crops per image, those of evaluation first, for which outputs "
        "of frozen stages are cached on disk; null for a new crop every time",
    )
    keep: float = Field(
        0.0,
        ge=0,
        description="weight of KL(original ‖ current class probabilities), so that the network "
        "does not forget its classes (Li and Hoiem 2016, §3); with head.kind=classes and views",
    )
    depthwise: bool = Field(
        True,
        description="train depthwise convolutions as well; without them, an update takes less time "
        "on a CPU, and nearly all parameters are still trained",
    )
    frozen_epochs: int = Field(1, ge=0, description="number of first epochs in which it is frozen")
    stage_epochs: int = Field(
        0,
        ge=0,
        description="epochs between unfreezing one stage and the stage before it; 0 for none",
    )
    multiplier: float = Field(0.1, ge=0, description="factor of lr for the last stage")
    lower_multiplier: float = Field(0.1, ge=0, description="factor of lr for all other stages")
    chunk: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="images whose activations are in memory at a time; those of the others are "
        "recomputed; null for all of a batch",
    )


class ImageRecipe(Section):
    """The image tower: precomputed features, or a network in the tower → joint space."""

    feature: str = Field(
        "efficientnet-lite2/global",
        description="EXTRACTOR/global, /grid, /gridN, /tencropN or imported/NAME",
    )
    backbone: BackboneRecipe | None = Field(
        None,
        description="the feature's network as part of the tower; null for precomputed features",
    )
    standardise: bool = Field(False, description="centre and scale features by training statistics")
    unit: bool = Field(False, description="scale features to length 1")
    head: HeadRecipe = Field(LinearHead(), description="layers from feature to joint space")
    dropout: float = Field(0.0, ge=0, lt=1, description="on features, and inside an MLP head")
    output_dropout: float = Field(0.0, ge=0, lt=1, description="after the head")
    attention: bool = Field(
        False, description="self-attention between a set's vectors, before the head"
    )
    activation: Literal["none", "leaky-relu"] = Field("none", description="after the head")
    normalise: bool = Field(False, description="scale a set's vectors to length 1 before pooling")
    pooling: str = Field("mean", description="reduces a set of vectors to one")

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        extractor, _, form = self.feature.rpartition("/")
        if self.backbone is None:
            return self
        name = self.backbone.name
        if extractor == "imported" or form.startswith("tencrop"):
            raise ValueError(
                f"a backbone needs features of a single pass over images, which "
                f"feature={self.feature} is not; set feature=efficientnet-lite2/grid, or "
                "backbone=null"
            )
        if name not in (None, extractor):
            raise ValueError(
                f"feature={self.feature} and backbone.name={name} are different networks; "
                f"set feature={name}/{form}"
            )
        if self.backbone.views is not None and self.backbone.train == "all":
            raise ValueError(
                "backbone.views caches the outputs of frozen stages, but train=all freezes none; "
                "set backbone.train=last, or backbone.views=null"
            )
        if self.backbone.whole and (self.backbone.squash or form != "global"):
            raise ValueError(
                "backbone.whole averages the vectors of the centre and the whole image: "
                "set feature=…/global and backbone.squash=false, or backbone.whole=false"
            )
        if self.backbone.keep and (self.head.kind != "classes" or self.backbone.views is None):
            raise ValueError("backbone.keep needs head.kind=classes and backbone.views")
        return self

    @property
    def is_global(self) -> bool:
        """Whether an image is one vector, by the feature's name; False for imported ones."""
        extractor, _, form = self.feature.rpartition("/")
        return extractor != "imported" and (form == "global" or form.startswith("tencrop"))
