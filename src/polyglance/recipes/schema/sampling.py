"""Samplers and augmentation of a recipe."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Section, UnionByKind, Variant


class UnionSampling(Variant):
    """Batches of captions of all languages."""

    kind: Literal["union"] = "union"


class _CaptionPairs(Variant):
    text_only: bool = Field(False, description="use the folder's text-only.jsonl.gz for c2c, too")
    grounded: list[str] | None = Field(
        None,
        min_length=1,
        description="languages ranked against images; the others are only aligned with them by "
        "c2c; null for all",
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
        description="what an epoch is a pass over: images, or the captions of the language with "
        "most of them, as in MULE's and LIWE's code (where a batch counts as that many captions)"
    ),
]


class JointSampling(_CaptionPairs):
    """Batches of images with one caption in every language (Gella et al. 2017)."""

    kind: Literal["joint"] = "joint"
    epoch: Pass = "images"
    c2c_weight: float = Field(0.0, ge=0, description="weight of captions against captions")


class TupleSampling(Variant):
    """Batches of images with captions in every language they have (MULE; SMALR, §3.1)."""

    kind: Literal["tuples"] = "tuples"
    epoch: Pass = "images"
    captions: int = Field(2, ge=1, description="per image and language")
    mono_weight: float = Field(
        0.05, ge=0, description="weight of captions of the same language and image"
    )
    cross_weight: float = Field(1.0, ge=0, description="weight of captions of different languages")
    cross_words_weight: float = Field(
        1.0, ge=0, description="the same for averages of universal word vectors"
    )
    adversary_weight: float = Field(
        1e-6, ge=0, description="strength of the language classifier's reversed gradient"
    )
    anchor_weight: float = Field(
        5e-7, ge=0, description="weight of the distance of words from their initial vectors"
    )
    masking_weight: float = Field(
        0.0, ge=0, description="weight of masked cross-language modelling"
    )
    mask_share: float = Field(0.2, gt=0, lt=1, description="share of masked words")
    masking_reduction: Literal["sum", "mean"] = Field(
        "sum", description="of masking losses over language pairs"
    )
    masked_matching: bool = Field(True, description="match masked captions with images, too")
    always_mask: bool = Field(False, description="masked_matching even if masking_weight is 0")
    detach: bool = Field(False, description="no gradient to the unmasked captions")
    pretrain_epochs: int = Field(
        0, ge=0, description="number of first epochs with only cross_words, and frozen word tables"
    )
    pretrain_updates: int = Field(0, ge=0, description="the same in updates; the longer applies")


class BesideRecipe(Section):
    """A second dataset, of images with names, for an additional loss in every update."""

    data: str = Field(description="dataset folder, such as one written by 'polyglance data emoji'")
    batch: int = Field(64, ge=2, description="images per update, with one name each")
    weight: float = Field(0.3, gt=0, description="weight of the loss of these images and names")
    languages: list[str] = Field(
        [], description="preferred with probability `favour`; otherwise a name is in any language"
    )
    favour: float = Field(
        0.4,
        ge=0,
        le=1,
        description="probability of a name in one of `languages`, if the image has any",
    )


class ImageSampling(Variant):
    """Batches of distinct images, embedded once, each with captions in several languages."""

    kind: Literal["images"] = "images"
    captions: int = Field(2, ge=1, description="per image, in different languages if possible")
    c2c_weight: float = Field(
        0.5, ge=0, description="weight of an image's captions against each other"
    )
    text_only: bool = Field(False, description="text pairs from the folder's text-only.jsonl.gz")
    text_files: list[str] = Field([], description="further files in that format, for text pairs")
    text_pairs: int = Field(
        256, ge=2, description="text pairs per update: two languages of a text-only tuple"
    )
    text_shares: list[Annotated[int, Field(ge=1)]] = Field(
        [], description="parts of text_pairs per file, text-only.jsonl.gz first; [] for equal ones"
    )
    text_weight: float = Field(0.3, gt=0, description="weight of the loss of text pairs")
    text_pivot: float = Field(
        0.7, ge=0, le=1, description="probability of English as the first of a text pair"
    )
    beside: BesideRecipe | None = Field(None, description="a second dataset, of images with names")

    @model_validator(mode="after")
    def _one_share_per_file(self) -> Self:
        files = self.text_only + len(self.text_files)
        if self.text_shares and len(self.text_shares) != files:
            raise ValueError(
                f"text_shares: {len(self.text_shares)} for {files} files of text pairs; give one "
                "per file, that of text-only.jsonl.gz first if text_only is set"
            )
        return self

    @property
    def reads_texts(self) -> bool:
        """Whether there are text pairs."""
        return self.text_only or bool(self.text_files)


SamplingRecipe = Annotated[
    UnionSampling | LanguageSampling | JointSampling | TupleSampling | ImageSampling, UnionByKind()
]


def masks_words(sampling: SamplingRecipe) -> bool:
    """Whether captions are also encoded with masked words (SMALR)."""
    if not isinstance(sampling, TupleSampling):
        return False
    return sampling.masking_weight > 0 or (sampling.always_mask and sampling.masked_matching)


class AugmentRecipe(Section):
    """Size augmentation in training (VSE∞, supplement §2.1; rates of the official code)."""

    vector_drop: float = Field(
        0.0, ge=0, lt=1, description="probability of dropping a vector of a set"
    )
    varying: bool = Field(
        False, description="as for grids: the probability is scaled by r~U(0,1), and 0 for r ≤ 0.2"
    )
    word_drop: float = Field(0.0, ge=0, lt=1, description="probability of selecting a word")
    mask_share: float = Field(
        0.5, ge=0, le=1, description="share of selected words that are masked"
    )
    replace_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="share of selected words that are replaced; the rest is deleted",
    )
    include_ends: bool = Field(True, description="whether <start> and <end> can be selected")
