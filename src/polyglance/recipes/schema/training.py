"""Optimisation, transfer from another model, and the authors' own quirks."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Kinds, Section, Variant


class ConstantSchedule(Variant):
    """The learning rate stays."""

    kind: Literal["constant"] = "constant"


class StepSchedule(Variant):
    """The learning rate falls by a factor now and then."""

    kind: Literal["step"] = "step"
    every: int = Field(15, ge=1, description="epochs between steps")
    every_updates: int | None = Field(
        None, ge=1, description="updates between steps, instead of epochs"
    )
    decay: float = Field(0.1, gt=0, le=1, description="factor of a step")


class CosineSchedule(Variant):
    """The learning rate falls like a cosine."""

    kind: Literal["cosine"] = "cosine"
    floor: float = Field(0.1, gt=0, le=1, description="share of lr at the end")


ScheduleRecipe = Annotated[ConstantSchedule | StepSchedule | CosineSchedule, Kinds()]


class TrainingRecipe(Section):
    """Optimisation and early stopping."""

    epochs: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        30, description="passes over the captions at most; auto has as many as the data needs"
    )
    updates: int | None = Field(None, ge=1, description="updates at most, instead of epochs")
    batch_size: int = Field(
        128, ge=2, description="captions of an update; images, where batches are of images"
    )
    optimizer: Literal["adam", "adamw"] = Field("adam", description="Adam, or with decoupled decay")
    lr: float = Field(2e-4, gt=0, description="learning rate")
    weight_decay: float = Field(0.0, ge=0, description="of all parameters")
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        "fp32", description="what the towers compute in; losses and norms are always fp32"
    )
    clip: Annotated[float, Field(gt=0)] | None = Field(
        2.0, description="largest norm of the gradient; null is any"
    )
    schedule: ScheduleRecipe = Field(ConstantSchedule(), description="of the learning rate")
    warmup_updates: int = Field(0, ge=0, description="updates of linear growth to lr")
    warmup_epoch: int | None = Field(
        None, ge=0, description="an epoch, from 0, of linear growth to lr"
    )
    multipliers: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="factors of lr by beginning of parameter names, such as text.encoder"
    )
    evaluate_every: int | None = Field(
        None,
        ge=1,
        description="updates; null is every epoch, with epochs=auto every few short ones",
    )
    patience: int = Field(10, ge=1, description="evaluations without a better rsum before stopping")
    primary: list[str] | None = Field(None, description="languages that rsum is taken over")
    buckets: int = Field(
        1,
        ge=1,
        description="batches sorted by length together, which saves padding but lets captions "
        "meet others of their length alone; 1 is none, as in every paper",
    )
    drop_last: bool = Field(False, description="leave out an incomplete last batch")
    collapse: Literal["stop", "warn"] = Field("stop", description="when all pairs score alike")
    seed: int = Field(0, ge=0, lt=2**63, description="of everything random")


class TransferRecipe(Section):
    """Starting from a trained model (Liu et al. 2019; docs/transfer.md)."""

    source: str = Field(
        description="folder of the model whose weights are copied: a run's, or one exported; base "
        "is the package's own"
    )
    tune: bool = Field(
        False, description="train all of the source on, with the words that it has (train --from)"
    )
    translator: Literal["none", "random", "aligned"] = Field(
        "aligned",
        description="where new words' vectors begin: as they are, mapped at random (T1), or "
        "aligned with the source's words by a dictionary (T2)",
    )
    keep: bool = Field(
        False, description="keep the source's languages too, and train nothing but the new words"
    )
    pivot: str | None = Field(
        None, description="the source's language in the dictionary; null is its only one, or en"
    )
    dictionary: str = Field(
        "lexicon",
        description="lexicon, identical, captions, text-only (captions without images), or "
        "a file of word pairs, new word first",
    )
    lexicon: str | None = Field(
        None, description="lexicon.tsv.gz for dictionary lexicon; null is $POLYGLANCE_LEXICON"
    )
    vectors: str | None = Field(
        None,
        description="with keep: folder of CODE.vec or CODE.bin of the new language and the pivot, "
        "for words that the dictionary lacks; 'captions' makes them from captions",
    )
    method: Literal["svd", "rcsls"] = Field("rcsls", description="how vectors are aligned")
    translations: int | None = Field(
        1, ge=1, description="of a word to align with, the likeliest first; null is all"
    )
    iterations: int = Field(10, ge=0, description="of rcsls")


class CompatRecipe(Section):
    """Behaviours of the authors' code that differ from their papers (docs/recipes.md); off."""

    c2c_lengths: bool = Field(False, description="c2c captions get each other's lengths reversed")
    halves: bool = Field(False, description="every language draws images on its own")
    c2c_images: bool = Field(False, description="c2c ignores data.images: captions of all of them")
    reshuffle_all: bool = Field(False, description="an exhausted language restarts all of them")
    pad_statistics: bool = Field(False, description="liwe's layers count padding like words")
    unpacked: bool = Field(False, description="the GRU also runs over the padding of a batch")
    adversary: bool = Field(False, description="the classifier's loss is scaled down as well")
    anchor: bool = Field(False, description="words are held to those of the epoch before")
    padded_average: bool = Field(
        False, description="averages of words count padding up to text.max_length, too"
    )
    padded_attention: bool = Field(
        False, description="self-attention and its pooling see padding up to text.max_length, too"
    )
    no_imgnorm: bool = Field(False, description="images are not scaled to length 1")
    translator_bias: bool = Field(False, description="an aligned translator has a random bias")


class TranslationRecipe(Section):
    """How 'evaluate' asks the trained model: queries translated, scores of several joined.

    The cross-lingual consistency of Burns et al. 2020, SMALR, §3.4.
    """

    translator: str = Field(
        "captions:$data", description="as for 'polyglance evaluate'; $data is the evaluated data"
    )
    to: list[str] | None = Field(None, description="languages; null is all of the model")
    consistency: Literal["average", "learned", "literal"] | None = Field(
        None,
        description="how scores are joined: CLC-A, CLC-C, or CLC-C with all its parameters as the "
        "paper words it; null is for one language",
    )

    @model_validator(mode="after")
    def _one_language(self) -> Self:
        if self.consistency is None and len(self.to or ()) != 1:
            raise ValueError("give one language 'to' translate to, or a 'consistency'")
        return self
