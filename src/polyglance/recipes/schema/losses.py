"""The objectives of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.core.sections import Kinds, Section, Variant


class LossRecipe(Variant):
    """A loss on the batch's score matrix."""

    mask_same_image: bool = Field(False, description="captions of one image are not negatives")

    def warmup(self, updates_per_epoch: int) -> int:
        """Updates, from the first, that use all negatives."""
        return 0


class HingeRecipe(LossRecipe):
    """A loss of hinges over the batch."""

    margin: float = Field(0.2, gt=0, description="by how much a positive must win a hinge")
    reduction: Literal["sum", "mean"] = Field("sum", description="hinges over the batch")


class WarmedRecipe(LossRecipe):
    """A loss of the hardest negatives, which may begin with all of them."""

    warmup_epochs: int = Field(0, ge=0, description="epochs of all negatives before the hardest")
    warmup_updates: int = Field(0, ge=0, description="the same in updates; the longer counts")

    def warmup(self, updates_per_epoch: int) -> int:
        """Updates, from the first, that use all negatives."""
        return max(self.warmup_epochs * updates_per_epoch, self.warmup_updates)


class SumHingeRecipe(HingeRecipe):
    """Sum of hinges (Kiros et al. 2014, VSE)."""

    kind: Literal["sum-hinge"] = "sum-hinge"


class MaxHingeRecipe(WarmedRecipe, HingeRecipe):
    """Max of hinges (Faghri et al. 2018, VSE++)."""

    kind: Literal["max-hinge"] = "max-hinge"


class MixedHingeRecipe(WarmedRecipe, HingeRecipe):
    """From the sum to the max of hinges (Wehrmann et al. 2019, LIWE, Eq. 4–5)."""

    kind: Literal["mixed-hinge"] = "mixed-hinge"
    epsilon: float = Field(
        0.991, gt=0, lt=1, description="ε of the hardest negatives' weight 1 − ε^t"
    )
    epsilon_c2c: float = Field(0.91, gt=0, lt=1, description="the same, captions against captions")


class InfoNceRecipe(LossRecipe):
    """Symmetric softmax with a temperature (Radford et al. 2021, CLIP)."""

    kind: Literal["infonce"] = "infonce"
    temperature: float = Field(0.06, gt=0, description="initial temperature")
    learn_temperature: bool = Field(True, description="whether the temperature is learned")


class TripletsRecipe(WarmedRecipe):
    """The most violated triplets of every anchor (EmbN, MULE, SMALR)."""

    kind: Literal["triplets"] = "triplets"
    margin: float = Field(0.2, gt=0, description="by how much a positive must win a hinge")
    top: int = Field(10, ge=1, description="the most violated of an anchor that count")
    distance: Literal["euclidean", "cosine"] = Field(
        "euclidean", description="√(2 − 2 cos + 1e-4), or 1 − cos"
    )
    caption_weight: float = Field(1.5, ge=0, description="weight of captions that look for images")
    image_weight: float = Field(1.0, ge=0, description="weight of images that look for captions")


AnyLossRecipe = Annotated[
    MaxHingeRecipe | SumHingeRecipe | MixedHingeRecipe | InfoNceRecipe | TripletsRecipe, Kinds()
]


class CaptioningRecipe(Section):
    """Captions generated from an image's vectors, a loss beside the matching (Li et al. 2019)."""

    weight: float = Field(1.0, gt=0, description="of the captions' mean loss")
    hidden: int = Field(512, gt=0, description="dimension of the encoder's and decoder's states")
    word_dim: int = Field(300, gt=0, description="dimension of the decoder's word vectors")
    dropout: float = Field(0.2, ge=0, lt=1, description="on what the two GRUs read")


class NamingRecipe(Section):
    """Names of a classifier's classes and their hypernyms, a loss beside the matching."""

    concepts: str = Field(description="file that 'polyglance data classes' writes")
    weight: float = Field(0.3, gt=0, description="of the loss of class vectors and names")
    batch: int = Field(192, gt=1, description="concepts of an update")
    languages: list[str] | None = Field(None, description="of the names; null is all")


class ConsensusRecipe(Section):
    """Concepts that captions share, beside every image and text (Wang et al. 2020, CVSE)."""

    concepts: int = Field(300, gt=1, description="the most frequent words that are concepts")
    label_share: float = Field(
        0.4, ge=0, le=1, description="of a text's concepts that its own words decide"
    )
    smooth: float = Field(10.0, gt=0, description="inverse temperature of the concepts' shares")
    fusion: float = Field(0.85, ge=0, le=1, description="share of the instance in an embedding")
    fused_weight: float = Field(3.0, ge=0, description="of the loss of fused embeddings")
    instance_weight: float = Field(5.0, ge=0, description="of the loss without concepts")
    consensus_weight: float = Field(1.0, ge=0, description="of the loss of concepts alone")
    agreement_weight: float = Field(
        2.0, ge=0, description="of the divergence of a text's concepts from its image's"
    )
