"""How batches are put together, and what they rank."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.core.sections import Kinds, Section, Variant


class UnionSampling(Variant):
    """Batches of all captions, whatever their language."""

    kind: Literal["union"] = "union"


class _CaptionPairs(Variant):
    text_only: bool = Field(False, description="c2c also on the folder's text-only.jsonl.gz")
    grounded: list[str] | None = Field(
        None,
        min_length=1,
        description="languages ranked against images; the others are aligned with them by c2c "
        "alone; null is all",
    )


class LanguageSampling(_CaptionPairs):
    """Batches of one language drawn at random (Kádár et al. 2018, Figure 2)."""

    kind: Literal["languages"] = "languages"
    c2c: float = Field(
        0.0, ge=0, le=1, description="share of updates that rank captions against captions"
    )


Pass = Annotated[
    Literal["images", "captions"],
    Field(
        description="what an epoch passes over: images, or the captions of the language that has "
        "most, as MULE's and LIWE's authors count (a batch's images for that many captions)"
    ),
]


class JointSampling(_CaptionPairs):
    """Batches of images with one caption in every language (Gella et al. 2017)."""

    kind: Literal["joint"] = "joint"
    epoch: Pass = "images"
    c2c_weight: float = Field(0.0, ge=0, description="weight of captions against captions")


class TupleSampling(Variant):
    """Batches of images with captions in every language they have (Kim et al. 2020, MULE)."""

    kind: Literal["tuples"] = "tuples"
    epoch: Pass = "images"
    captions: int = Field(2, ge=1, description="of an image in each language")
    mono_weight: float = Field(0.05, ge=0, description="captions of one language, one image")
    cross_weight: float = Field(1.0, ge=0, description="captions of two languages")
    cross_words_weight: float = Field(
        1.0, ge=0, description="the same on averages of universal word vectors"
    )
    adversary_weight: float = Field(
        1e-6, ge=0, description="strength of the language classifier's reversed gradient"
    )
    anchor_weight: float = Field(5e-7, ge=0, description="words stay near their first vectors")
    masking_weight: float = Field(0.0, ge=0, description="masked cross-language modelling")
    mask_share: float = Field(0.2, gt=0, lt=1, description="share of words that it masks")
    masking_reduction: Literal["sum", "mean"] = Field(
        "sum", description="of its losses over pairs of languages"
    )
    masked_matching: bool = Field(True, description="masked captions are matched with images, too")
    always_mask: bool = Field(
        False, description="masked_matching holds where masking_weight is 0, too"
    )
    detach: bool = Field(
        False, description="no gradient to the captions that masked ones are to become"
    )
    pretrain_epochs: int = Field(
        0, ge=0, description="first epochs of cross_words alone, word tables frozen"
    )
    pretrain_updates: int = Field(0, ge=0, description="the same in updates; the longer counts")


class BesideRecipe(Section):
    """Images with names beside those with captions: every update matches some among themselves."""

    data: str = Field(description="dataset folder, such as 'polyglance data emoji' writes")
    batch: int = Field(64, ge=2, description="images of an update, with one name each")
    weight: float = Field(0.3, gt=0, description="of the loss of these images and names")
    languages: list[str] = Field(
        [], description="that `favour` prefers; a name's language is else any that the image has"
    )
    favour: float = Field(
        0.4, ge=0, le=1, description="chance of a name in one of `languages`, where there are any"
    )


class ImageSampling(Variant):
    """Batches of images with captions in several languages of their own, embedded once."""

    kind: Literal["images"] = "images"
    captions: int = Field(2, ge=1, description="of an image, in distinct languages if it has them")
    c2c_weight: float = Field(
        0.5, ge=0, description="weight of an image's captions against each other"
    )
    text_only: bool = Field(False, description="text pairs from the folder's text-only.jsonl.gz")
    text_files: list[str] = Field([], description="further files of that form, for text pairs")
    text_pairs: int = Field(
        256, ge=2, description="of an update: two languages of a tuple without an image"
    )
    text_weight: float = Field(0.3, gt=0, description="of the loss of text pairs")
    text_pivot: float = Field(
        0.7, ge=0, le=1, description="chance of English as the first of a text pair"
    )
    beside: BesideRecipe | None = Field(None, description="a second dataset, of named things")

    @property
    def reads_texts(self) -> bool:
        """Whether there are text pairs."""
        return self.text_only or bool(self.text_files)


SamplingRecipe = Annotated[
    UnionSampling | LanguageSampling | JointSampling | TupleSampling | ImageSampling, Kinds()
]


def masks_words(sampling: SamplingRecipe) -> bool:
    """Whether captions are also read with masked words (SMALR)."""
    if not isinstance(sampling, TupleSampling):
        return False
    return sampling.masking_weight > 0 or (sampling.always_mask and sampling.masked_matching)


class AugmentRecipe(Section):
    """Size augmentation in training (Chen et al. 2021, VSE∞, §4.2; rates of the official code)."""

    vector_drop: float = Field(
        0.0, ge=0, lt=1, description="chance of a set's vector to be dropped"
    )
    varying: bool = Field(
        False, description="the grid's rule: the chance is scaled by r~U(0,1), and 0 for r ≤ 0.2"
    )
    word_drop: float = Field(0.0, ge=0, lt=1, description="chance of a word to be selected")
    mask_share: float = Field(
        0.5, ge=0, le=1, description="share of selected words that are masked"
    )
    replace_share: float = Field(0.1, ge=0, le=1, description="share replaced; the rest is deleted")
    include_ends: bool = Field(True, description="whether <start> and <end> can be selected, too")
