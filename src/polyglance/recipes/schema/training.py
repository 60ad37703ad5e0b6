"""Optimisation, transfer from another model, and quirks of the authors' code."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Section, UnionByKind, Variant


class ConstantSchedule(Variant):
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"


class StepSchedule(Variant):
    """The learning rate decreases by a factor at regular intervals."""

    kind: Literal["step"] = "step"
    every: int = Field(15, ge=1, description="epochs between steps")
    every_updates: int | None = Field(
        None, ge=1, description="updates between steps, instead of epochs"
    )
    decay: float = Field(0.1, gt=0, le=1, description="factor of a step")


class CosineSchedule(Variant):
    """Cosine decay of the learning rate."""

    kind: Literal["cosine"] = "cosine"
    floor: float = Field(0.1, gt=0, le=1, description="share of lr at the end")


ScheduleRecipe = Annotated[ConstantSchedule | StepSchedule | CosineSchedule, UnionByKind()]


class TrainingRecipe(Section):
    """Optimisation and early stopping."""

    epochs: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        30, description="maximum number of passes over the captions; auto to adapt to the data"
    )
    updates: int | None = Field(
        None, ge=1, description="maximum number of updates, instead of epochs"
    )
    batch_size: int = Field(
        128, ge=2, description="captions per update, or images, depending on the sampler"
    )
    optimizer: Literal["adam", "adamw"] = Field(
        "adam", description="Adam, or Adam with decoupled weight decay"
    )
    lr: float = Field(2e-4, gt=0, description="learning rate")
    weight_decay: float = Field(0.0, ge=0, description="of all parameters")
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        "fp32", description="of the towers' computation; losses and norms are always fp32"
    )
    clip: Annotated[float, Field(gt=0)] | None = Field(
        2.0, description="maximum norm of the gradient; null for no clipping"
    )
    schedule: ScheduleRecipe = Field(ConstantSchedule(), description="of the learning rate")
    warmup_updates: int = Field(0, ge=0, description="updates of linear warm-up to lr")
    warmup_epoch: int | None = Field(
        None, ge=0, description="an epoch, from 0, of linear warm-up to lr"
    )
    multipliers: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="factors of lr by prefix of parameter names, such as text.encoder"
    )
    evaluate_every: int | None = Field(
        None,
        ge=1,
        description="updates; null for every epoch, or every few short ones with epochs=auto",
    )
    patience: int = Field(10, ge=1, description="evaluations without a better rsum before stopping")
    primary: list[str] | None = Field(None, description="languages over which rsum is computed")
    buckets: int = Field(
        1,
        ge=1,
        description="number of batches sorted by length together, which saves padding, but batches "
        "then have captions of similar length only; 1 for no sorting, as in all papers",
    )
    drop_last: bool = Field(False, description="skip an incomplete last batch")
    collapse: Literal["stop", "warn"] = Field(
        "stop", description="what to do if all pairs have the same score"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="of everything random")


class TransferRecipe(Section):
    """Starting from a trained model (T1 and T2 of Liu et al. 2019, §3; docs/transfer.md)."""

    source: str = Field(
        description="folder of the source model: a run, or an exported model; base for the "
        "included model"
    )
    tune: bool = Field(
        False, description="fine-tune the whole source model with its own words (train --from)"
    )
    translator: Literal["none", "random", "aligned"] = Field(
        "aligned",
        description="initial mapping of new words' vectors: none, random (T1), or aligned with the "
        "source's words by a dictionary (T2)",
    )
    keep: bool = Field(
        False, description="keep the source's languages, and train only the new words"
    )
    pivot: str | None = Field(
        None, description="the source's language in the dictionary; null for its only one, or en"
    )
    dictionary: str = Field(
        "lexicon",
        description="lexicon, identical, captions, text-only (captions without images), or "
        "a file of word pairs with the new word first",
    )
    lexicon: str | None = Field(
        None, description="lexicon.tsv.gz for dictionary lexicon; null for $POLYGLANCE_LEXICON"
    )
    vectors: str | None = Field(
        None,
        description="with keep: folder of CODE.vec or CODE.bin of the new language and the pivot, "
        "for words that the dictionary lacks; 'captions' to train them on captions",
    )
    method: Literal["svd", "rcsls"] = Field("rcsls", description="how vectors are aligned")
    translations: int | None = Field(
        1,
        ge=1,
        description="translations per word to align with, the most likely first; null for all",
    )
    iterations: int = Field(10, ge=0, description="of rcsls")


class CompatRecipe(Section):
    """Behaviour of the authors' code that differs from their papers (docs/recipes.md)."""

    c2c_lengths: bool = Field(False, description="c2c captions get each other's lengths reversed")
    halves: bool = Field(False, description="every language draws its images separately")
    c2c_images: bool = Field(
        False, description="c2c ignores data.images and uses captions of all images"
    )
    reshuffle_all: bool = Field(False, description="an exhausted language restarts all languages")
    pad_statistics: bool = Field(False, description="liwe's batch norms include padding")
    unpacked: bool = Field(False, description="the GRU also runs over the padding of a batch")
    adversary: bool = Field(False, description="the classifier's loss is scaled down, too")
    anchor: bool = Field(
        False,
        description="words are kept close to those of the previous epoch, not the initial ones",
    )
    padded_average: bool = Field(
        False, description="averages of words include padding up to text.max_length"
    )
    padded_attention: bool = Field(
        False, description="self-attention and its pooling include padding up to text.max_length"
    )
    no_imgnorm: bool = Field(False, description="images are not normalised")
    translator_bias: bool = Field(False, description="an aligned translator has a random bias")


class TranslationRecipe(Section):
    """Translation of queries in 'evaluate', with one or several languages.

    Scores of several languages are combined by cross-lingual consistency (Burns et al. 2020,
    SMALR, §3.4).
    """

    translator: str = Field(
        "captions:$data", description="as for 'polyglance evaluate'; $data is the evaluated data"
    )
    to: list[str] | None = Field(None, description="languages; null for all of the model")
    consistency: Literal["average", "learned", "literal"] | None = Field(
        None,
        description="how scores are combined: CLC-A, CLC-C, or CLC-C with all parameters as in the "
        "paper; null for one language",
    )

    @model_validator(mode="after")
    def _one_language(self) -> Self:
        if self.consistency is None and len(self.to or ()) != 1:
            raise ValueError("set one language 'to' translate to, or a 'consistency'")
        return self
