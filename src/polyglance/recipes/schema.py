"""What a recipe may say. A system of a paper is a recipe: data, not code."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Part(BaseModel):
    """A section of a recipe: unknown fields are errors, values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataRecipe(Part):
    """Which captions to train on, and the conditions of Kádár et al. 2018 (§5–6)."""

    languages: list[str] | None = Field(
        None, min_length=1, description="codes; null is all of the dataset"
    )
    kinds: list[str] | dict[str, list[str]] | None = Field(
        None, description="caption kinds, for all or by language; null is all"
    )
    train_split: str = Field("train", description="the split to train on")
    validation_split: str = Field("val", description="the split that stopping is judged on")
    complete: list[str] | None = Field(
        None, description="keep photographs with captions in all of these languages"
    )
    photos: int | float | None = Field(
        None, gt=0, description="training photographs, a number or a share; null is all"
    )
    assignment: Literal["shared", "disjoint"] = Field(
        "shared", description="do languages caption the same photographs, or each its own part"
    )
    captions_per_image: int | None = Field(
        None, ge=1, description="captions per photograph and language, drawn once; null is all"
    )


class ImageRecipe(Part):
    """The image tower: precomputed features → joint space."""

    feature: str = Field(
        "efficientnet-lite2/global", description="EXTRACTOR/global, /grid, /gridN or imported/NAME"
    )
    standardise: bool = Field(False, description="centre and scale features by training statistics")
    head: Literal["linear", "mlp", "residual-mlp"] = Field(
        "linear", description="layers from feature to space, on every vector"
    )
    hidden: int = Field(1024, gt=0, description="hidden units of the mlp heads")
    dropout: float = Field(0.0, ge=0, lt=1, description="on features, and inside the mlp")
    pooling: str = Field("mean", description="how a set of vectors becomes one")


class TextRecipe(Part):
    """The text tower: words → vectors → recurrent states → one vector."""

    towers: Literal["shared", "per-language"] = Field(
        "shared", description="one tower for all languages, or one with its own words for each"
    )
    tokenizer: str = Field("words", description="how captions are cut into words")
    threshold: int = Field(
        4, ge=1, description="a word, or a character of spelt words, must occur this often"
    )
    scope: Literal["pooled", "per-language"] = Field(
        "pooled", description="count words over all languages, or within each"
    )
    ends: bool = Field(True, description="put <start> and <end> around a caption")
    max_length: int = Field(60, ge=3, description="longer captions are cut, the ends counted in")
    romanise: bool = Field(False, description="put Chinese and Japanese into Latin letters first")
    embedder: Literal["table", "liwe", "chargru", "transformer"] = Field(
        "table",
        description="word vectors from a table, from characters, or from a frozen transformer",
    )
    layers: list[Annotated[int, Field(gt=0)]] = Field(
        [384, 448], description="hidden units of liwe, the paper's (f1, f2)"
    )
    characters: int = Field(24, gt=0, description="size of a character's vector")
    word_length: int = Field(26, ge=1, description="longer words are cut, in characters")
    alphabet: Literal["data", "lavse"] = Field(
        "data", description="characters of the training captions, or the authors' 101"
    )
    vectors: str | None = Field(
        None,
        description="file of pretrained vectors (word2vec text, .vec, GloVe) beside spelt ones",
    )
    words: int = Field(300, gt=0, description="size of a word vector")
    word_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on word vectors")
    encoder: Literal["gru", "bigru", "transformer"] = Field(
        "gru", description="one direction or two, or a pretrained transformer"
    )
    pretrained: str | None = Field(
        None, description="folder of a Hugging Face encoder and its tokeniser, for a transformer"
    )
    hidden: int = Field(1024, gt=0, description="size of a recurrent state, each direction")
    directions: Literal["average", "concatenate"] = Field(
        "average", description="how the two directions of a bigru are joined"
    )
    pooling: str = Field("last", description="how the states become one vector")
    projection: bool = Field(False, description="a linear layer from the pooled state to the space")
    dropout: float = Field(0.0, ge=0, lt=1, description="on the pooled state")

    @property
    def spells(self) -> bool:
        """Whether words are read by their characters."""
        return self.embedder in ("liwe", "chargru")

    @property
    def in_pieces(self) -> bool:
        """Whether texts are read by a pretrained encoder's tokeniser."""
        return "transformer" in (self.encoder, self.embedder)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.encoder == "transformer" and self.embedder != "table":
            raise ValueError("encoder: transformer has word vectors of its own; drop 'embedder'")
        if self.vectors is not None and not self.spells:
            raise ValueError("'vectors' go beside spelt words: set embedder to liwe or chargru")
        return self


class JointRecipe(Part):
    """The space in which both meet."""

    dim: int = Field(1024, gt=0, description="numbers of a point")
    similarity: Literal["cosine", "order", "order-squared"] = Field(
        "cosine", description="cosine, or (squared) order violation of non-negative points"
    )


class AttentionRecipe(Part):
    """Cross-attention between the vectors of an image and of a caption (SCAN, IMRAM)."""

    matching: Literal["none", "scan", "imram"] = Field(
        "none", description="none compares one point with one point"
    )
    direction: Literal["t2i", "i2t", "both"] = Field(
        "t2i", description="words attend to the image, its vectors to the words, or both (imram)"
    )
    aggregate: Literal["mean", "lse"] = Field("mean", description="of similarities over queries")
    smooth: float = Field(9.0, gt=0, description="inverse temperature λ of the attention")
    lse: float = Field(6.0, gt=0, description="λ of LogSumExp")
    steps: int = Field(3, ge=1, description="matching steps K of imram")


class AugmentRecipe(Part):
    """Size augmentation in training (VSE∞; rates of the official code, spec §3.3)."""

    vectors: float = Field(0.0, ge=0, lt=1, description="chance of an image's vector to be dropped")
    varying: bool = Field(
        False, description="the grid's rule: the chance is scaled by r~U(0,1), and 0 for r ≤ 0.2"
    )
    words: float = Field(0.0, ge=0, lt=1, description="chance of a word to be selected")
    masked: float = Field(0.5, ge=0, le=1, description="share of selected words that are masked")
    random: float = Field(0.1, ge=0, le=1, description="share replaced; the rest is deleted")
    ends: bool = Field(True, description="whether <start> and <end> can be selected, too")

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.masked + self.random > 1:
            raise ValueError("masked and random are shares: together they must not exceed 1")
        return self


class LossRecipe(Part):
    """The objective on the batch's score matrix."""

    name: str = Field("max-hinge", description="max-hinge, sum-hinge, mixed-hinge or infonce")
    margin: float = Field(0.2, gt=0, description="by how much a positive must win a hinge")
    reduction: Literal["sum", "mean"] = Field("sum", description="hinges over the batch")
    warmup_epochs: int = Field(0, ge=0, description="epochs of sum-hinge before max-hinge")
    warmup_updates: int = Field(0, ge=0, description="the same in updates; the longer counts")
    epsilon: float = Field(
        0.991, gt=0, lt=1, description="mixed-hinge: ε of the hardest negatives' weight 1 − ε^t"
    )
    epsilon_c2c: float = Field(0.91, gt=0, lt=1, description="the same, captions against captions")
    temperature: float = Field(0.06, gt=0, description="initial temperature of infonce")
    learn_temperature: bool = Field(True, description="whether infonce learns its temperature")
    mask_same_image: bool = Field(False, description="captions of one image are not negatives")


class TasksRecipe(Part):
    """What an update ranks: captions against images (c2i), or captions against captions (c2c)."""

    sampling: Literal["union", "languages", "joint"] = Field(
        "union",
        description="batches of all captions, of one language drawn at random, "
        "or of one caption in every language for the same photographs",
    )
    c2c: float = Field(
        0.0, ge=0, description="share of updates that are c2c; with joint sampling, their weight"
    )
    text_only: bool = Field(False, description="c2c also on the folder's text-only.jsonl.gz")
    grounded: list[str] | None = Field(
        None,
        min_length=1,
        description="languages ranked against images; the others are aligned with them by c2c "
        "alone; null is all",
    )


class CompatRecipe(Part):
    """Behaviours of the authors' code that differ from their papers (spec §2.2, §4); off."""

    c2c_lengths: bool = Field(False, description="c2c captions get each other's lengths reversed")
    halves: bool = Field(False, description="every language draws photographs on its own")
    c2c_photos: bool = Field(False, description="c2c ignores data.photos: captions of all of them")
    reshuffle_all: bool = Field(False, description="an exhausted language restarts all of them")
    pad_statistics: bool = Field(False, description="liwe's layers count padding like words")
    unpacked: bool = Field(False, description="the GRU also runs over the padding of a batch")


class TrainingRecipe(Part):
    """Optimisation and stopping."""

    epochs: int = Field(30, ge=1, description="passes over the captions at most")
    updates: int | None = Field(None, ge=1, description="updates at most, instead of epochs")
    batch_size: int = Field(128, ge=2, description="captions of an update")
    optimizer: Literal["adam", "adamw"] = Field("adam", description="Adam, or with decoupled decay")
    lr: float = Field(2e-4, gt=0, description="learning rate")
    weight_decay: float = Field(0.0, ge=0, description="of all parameters")
    clip: float = Field(2.0, gt=0, description="largest norm of the gradient")
    schedule: Literal["constant", "step", "cosine"] = Field(
        "constant", description="of the learning rate"
    )
    decay_every: int = Field(15, ge=1, description="epochs between steps of the step schedule")
    decay: float = Field(0.1, gt=0, le=1, description="factor of a step; floor of the cosine")
    warmup_updates: int = Field(0, ge=0, description="updates of linear growth to lr")
    warmup_epoch: int | None = Field(
        None, ge=0, description="an epoch, from 0, of linear growth to lr"
    )
    multipliers: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="factors of lr by beginning of parameter names, such as text.encoder"
    )
    evaluate_every: int | None = Field(None, ge=1, description="updates; null is every epoch")
    patience: int = Field(10, ge=1, description="evaluations without a better rsum before stopping")
    primary: list[str] | None = Field(None, description="languages that rsum is taken over")
    buckets: int = Field(50, ge=1, description="batches sorted by length together; 1 is none")
    drop_last: bool = Field(False, description="leave out an incomplete last batch")
    collapse: Literal["stop", "warn"] = Field("stop", description="when all pairs score alike")
    seed: int = Field(0, ge=0, lt=2**63, description="of everything random")


class Recipe(Part):
    """A named system."""

    name: str = Field(description="what the recipe is called")
    paper: str = Field(description="where it comes from")
    summary: str = Field(description="one line")
    data: DataRecipe = DataRecipe()
    image: ImageRecipe = ImageRecipe()
    text: TextRecipe = TextRecipe()
    joint: JointRecipe = JointRecipe()
    attention: AttentionRecipe = AttentionRecipe()
    augment: AugmentRecipe = AugmentRecipe()
    loss: LossRecipe = LossRecipe()
    tasks: TasksRecipe = TasksRecipe()
    training: TrainingRecipe = TrainingRecipe()
    compat: CompatRecipe = CompatRecipe()
