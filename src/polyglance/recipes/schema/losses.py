"""The objectives of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.core.sections import Section, UnionByKind, Variant


class LossRecipe(Variant):
    """A loss on the batch's score matrix."""

    mask_same_image: bool = Field(False, description="captions of one image are not negatives")

    def warmup(self, updates_per_epoch: int) -> int:
        """Number of first updates that use all negatives."""
        return 0


class HingeRecipe(LossRecipe):
    """A hinge loss over the batch."""

    margin: float = Field(0.2, gt=0, description="by how much a positive must exceed a negative")
    reduction: Literal["sum", "mean"] = Field("sum", description="of hinges over the batch")


class WarmedRecipe(LossRecipe):
    """A loss with the hardest negatives, optionally after a warm-up with all negatives."""

    warmup_epochs: int = Field(0, ge=0, description="epochs with all negatives before the hardest")
    warmup_updates: int = Field(0, ge=0, description="the same in updates; the longer applies")

    def warmup(self, updates_per_epoch: int) -> int:
        """Number of first updates that use all negatives."""
        return max(self.warmup_epochs * updates_per_epoch, self.warmup_updates)


class SumHingeRecipe(HingeRecipe):
    """Sum of hinges (Kiros et al. 2014, VSE; Liu et al. 2019, §2)."""

    kind: Literal["sum-hinge"] = "sum-hinge"


class MaxHingeRecipe(WarmedRecipe, HingeRecipe):
    """Max of hinges (Faghri et al. 2018, VSE++; Kádár et al. 2018, §3)."""

    kind: Literal["max-hinge"] = "max-hinge"


class MixedHingeRecipe(WarmedRecipe, HingeRecipe):
    """Gradual change from the sum to the max of hinges (Wehrmann et al. 2019, LIWE, Eq. 4–5)."""

    kind: Literal["mixed-hinge"] = "mixed-hinge"
    epsilon: float = Field(
        0.991, gt=0, lt=1, description="ε of the hardest negatives' weight 1 − ε^t"
    )
    epsilon_c2c: float = Field(
        0.91, gt=0, lt=1, description="the same for captions against captions"
    )


class InfoNceRecipe(LossRecipe):
    """Symmetric softmax with a temperature (Radford et al. 2021, CLIP, §2.3)."""

    kind: Literal["infonce"] = "infonce"
    temperature: float = Field(0.06, gt=0, description="initial temperature")
    learn_temperature: bool = Field(True, description="whether the temperature is learned")


class TripletsRecipe(WarmedRecipe):
    """The most violated triplets of every anchor (EmbN, MULE, SMALR)."""

    kind: Literal["triplets"] = "triplets"
    margin: float = Field(0.2, gt=0, description="by how much a positive must exceed a negative")
    top: int = Field(10, ge=1, description="number of most violated triplets per anchor")
    distance: Literal["euclidean", "cosine"] = Field(
        "euclidean", description="√(2 − 2 cos + 1e-4), or 1 − cos"
    )
    caption_weight: float = Field(1.5, ge=0, description="weight of captions as queries")
    image_weight: float = Field(1.0, ge=0, description="weight of images as queries")


AnyLossRecipe = Annotated[
    MaxHingeRecipe | SumHingeRecipe | MixedHingeRecipe | InfoNceRecipe | TripletsRecipe,
    UnionByKind(),
]


class CaptioningRecipe(Section):
    """An additional loss: generating captions from an image's vectors (VSRN, §3.4, Eq. 9)."""

    weight: float = Field(1.0, gt=0, description="weight of the mean captioning loss")
    hidden: int = Field(512, gt=0, description="dimension of the encoder's and decoder's states")
    word_dim: int = Field(300, gt=0, description="dimension of the decoder's word vectors")
    dropout: float = Field(0.2, ge=0, lt=1, description="on the inputs of both GRUs")


class NamingRecipe(Section):
    """An additional loss: names of a classifier's classes and their hypernyms."""

    concepts: str = Field(description="file written by 'polyglance data classes'")
    weight: float = Field(0.3, gt=0, description="weight of the loss of class vectors and names")
    batch: int = Field(192, gt=1, description="concepts per update")
    languages: list[str] | None = Field(None, description="of the names; null for all")


class ConsensusRecipe(Section):
    """Consensus-aware embeddings with concepts that captions share (Wang et al. 2020, CVSE, §3)."""

    concepts: int = Field(300, gt=1, description="number of concepts, the most frequent words")
    label_share: float = Field(
        0.4, ge=0, le=1, description="share of a text's concepts determined by its own words"
    )
    smooth: float = Field(10.0, gt=0, description="inverse temperature of the concepts' weights")
    fusion: float = Field(0.85, ge=0, le=1, description="share of the instance in an embedding")
    fused_weight: float = Field(3.0, ge=0, description="weight of the loss of fused embeddings")
    instance_weight: float = Field(5.0, ge=0, description="weight of the loss without concepts")
    consensus_weight: float = Field(1.0, ge=0, description="weight of the loss of concepts only")
    agreement_weight: float = Field(
        2.0, ge=0, description="weight of the divergence between a text's and its image's concepts"
    )
