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
        None,
        ge=0,
        description="training photographs, a number or a share; null is all, 0 trains nothing "
        "(a model from transfer.source as it starts)",
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
    unit: bool = Field(False, description="scale features to length 1")
    head: Literal["linear", "mlp", "residual-mlp", "bn-mlp"] = Field(
        "linear", description="layers from feature to space, on every vector"
    )
    hidden: int = Field(1024, gt=0, description="hidden units of the mlp heads")
    dropout: float = Field(0.0, ge=0, lt=1, description="on features, and inside the mlp")
    attention: bool = Field(False, description="self-attention among a set's vectors, first")
    activation: Literal["none", "leaky-relu"] = Field("none", description="after the head")
    normalise: bool = Field(False, description="scale a set's vectors to length 1 before pooling")
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
    embedder: Literal["table", "liwe", "chargru", "transformer", "universal", "vectors"] = Field(
        "table",
        description="word vectors from a table, from characters, from a frozen transformer, "
        "from tables of every language into one space (section universal), or fixed ones of "
        "each language (text.vectors)",
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
        description="file of pretrained vectors (word2vec text, .vec, GloVe) beside spelt ones; "
        "for embedder vectors, a folder with CODE.vec or CODE.bin, null makes them from captions",
    )
    trained: Literal["cooccurrence", "skipgram"] = Field(
        "cooccurrence", description="how embedder vectors makes vectors from captions"
    )
    known: int = Field(
        20_000, ge=1, description="of embedder vectors: frequent words that a model keeps"
    )
    centre: bool = Field(True, description="of embedder vectors: subtract the language's mean")
    copy_subwords: bool = Field(
        False, description="copy CODE.bin into the model, so that it reads unseen words anywhere"
    )
    words: int = Field(300, gt=0, description="size of a word vector")
    word_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on word vectors")
    encoder: Literal["gru", "bigru", "attention", "transformer"] = Field(
        "gru", description="one direction or two, self-attention, or a pretrained transformer"
    )
    heads: int = Field(6, gt=0, description="of self-attention")
    head_size: int = Field(64, gt=0, description="numbers of a head's keys and values")
    attention_dropout: float = Field(0.1, ge=0, lt=1, description="on self-attention's weights")
    layer_dropout: float = Field(0.01, ge=0, lt=1, description="on what self-attention gives")
    pretrained: str | None = Field(
        None, description="folder of a Hugging Face encoder and its tokeniser, for a transformer"
    )
    hidden: int = Field(1024, gt=0, description="size of a recurrent state, each direction")
    biases: Literal[1, 2] = Field(2, description="of a gate; 1 has none on the recurrent state")
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
        if self.vectors is not None and not self.spells and self.embedder != "vectors":
            raise ValueError(
                "'vectors' go with embedder vectors, or beside spelt words (liwe, chargru)"
            )
        if self.embedder in ("universal", "vectors") and self.ends:
            raise ValueError(
                f"embedder: {self.embedder} has no <start> and <end>; set ends to false"
            )
        if self.embedder == "vectors" and self.towers != "shared":
            raise ValueError("embedder: vectors has one tower for all languages; drop 'towers'")
        return self


class UniversalRecipe(Part):
    """Words of text.embedder=universal (MULE, SMALR; spec §5.2–5.3).

    Frequent words have vectors of their own and a linear layer of their language to the shared
    space of text.words numbers; what becomes of the others is said by `rare`. Words that the
    training captions lack are dropped.
    """

    vectors: str | None = Field(
        None,
        description="folder of pretrained CODE.vec or CODE.bin; null trains them here",
    )
    trained: int = Field(300, gt=0, description="size of vectors trained here")
    corpus: Literal["captions", "texts", "lexicon"] = Field(
        "texts",
        description="vectors are trained on the training captions; also on the folder's "
        "text-only ones; also on synonyms of the lexicon",
    )
    dim: int = Field(
        300, gt=0, description="size of a word's own vector; wider ones are reduced by PCA"
    )
    frequent: int | None = Field(
        None, ge=0, description="words a language that keep a vector of their own; null is all"
    )
    often: int = Field(1, ge=1, description="a word that occurs less often is rare, too")
    rare: Literal["latent", "drop", "dictionary"] = Field(
        "drop",
        description="rare words share latent tokens, are dropped, or become words of the pivot",
    )
    latent: int = Field(40_000, ge=2, description="latent tokens at most; unused ones are deleted")
    explore: float = Field(
        0.2, ge=0, le=1, description="chance p of another token than the best while assigning"
    )
    candidates: int = Field(20, ge=1, description="the best M tokens to explore among")
    epochs: int = Field(5, ge=1, description="passes over the photographs to learn the tokens in")
    updates: int | None = Field(None, ge=1, description="updates of it, instead of epochs")
    lr: float = Field(1e-3, gt=0, description="learning rate of it")
    lexicon: str | None = Field(
        None,
        description="lexicon.tsv.gz for dictionaries and synonyms; null is $POLYGLANCE_LEXICON",
    )
    pivot: str = Field("en", description="the language that rare words are translated to")
    precomputed: bool = Field(
        False, description="words' vectors are stored, as 'polyglance compact' writes them"
    )


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

    name: str = Field(
        "max-hinge", description="max-hinge, sum-hinge, mixed-hinge, infonce or triplets"
    )
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
    top: int = Field(10, ge=1, description="triplets: the most violated of an anchor that count")
    distance: Literal["euclidean", "cosine"] = Field(
        "euclidean", description="triplets: √(2 − 2 cos + 1e-4), or 1 − cos"
    )
    captions: float = Field(
        1.5, ge=0, description="triplets: weight of captions that look for images"
    )
    images: float = Field(1.0, ge=0, description="triplets: of images that look for captions")


class ConstraintsRecipe(Part):
    """What tasks.sampling=tuples adds to the matching of captions and images (spec §5.2–5.5)."""

    captions: int = Field(2, ge=1, description="of a photograph in each language")
    mono: float = Field(0.05, ge=0, description="weight: captions of one language, one photograph")
    cross: float = Field(1.0, ge=0, description="weight: captions of two languages")
    cross_words: float = Field(
        1.0, ge=0, description="weight: the same on averages of universal word vectors"
    )
    adversary: float = Field(
        1e-6, ge=0, description="strength of the language classifier's reversed gradient"
    )
    anchor: float = Field(5e-7, ge=0, description="weight: words stay near their first vectors")
    masking: float = Field(0.0, ge=0, description="weight of masked cross-language modelling")
    masked: float = Field(0.2, gt=0, lt=1, description="share of words that it masks")
    masked_matching: bool = Field(True, description="masked captions are matched with images, too")
    detach: bool = Field(False, description="its whole captions get no gradient")
    pretrain_epochs: int = Field(
        0, ge=0, description="first epochs of cross_words alone, word tables frozen"
    )
    pretrain_updates: int = Field(0, ge=0, description="the same in updates; the longer counts")


class TasksRecipe(Part):
    """What an update ranks: captions against images (c2i), or captions against captions (c2c)."""

    sampling: Literal["union", "languages", "joint", "tuples"] = Field(
        "union",
        description="batches of all captions, of one language drawn at random, "
        "of one caption in every language for the same photographs, "
        "or of photographs with captions in every language they have (section constraints)",
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
    """Behaviours of the authors' code that differ from their papers (spec §2.2, §4–6); off."""

    c2c_lengths: bool = Field(False, description="c2c captions get each other's lengths reversed")
    halves: bool = Field(False, description="every language draws photographs on its own")
    c2c_photos: bool = Field(False, description="c2c ignores data.photos: captions of all of them")
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


class TransferRecipe(Part):
    """Starting from a trained model of other languages (Translator, spec §6; docs/transfer.md)."""

    source: str | None = Field(None, description="folder of the model whose weights are copied")
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
        description="lexicon, identical, captions, text-only (captions without photographs), or "
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


class TranslationRecipe(Part):
    """How 'evaluate' asks the trained model: queries translated, scores of several joined (SMALR).

    Without `to` and `consistency` queries are asked as they are.
    """

    translator: str = Field(
        "captions:$data", description="as for 'polyglance evaluate'; $data is the data judged on"
    )
    to: list[str] | None = Field(None, description="languages; null is all of the model")
    consistency: Literal["average", "learned"] | None = Field(
        None, description="how scores are joined, CLC-A or CLC-C; null is for one language"
    )

    @property
    def used(self) -> bool:
        """Whether queries are translated at all."""
        return bool(self.to or self.consistency)

    @model_validator(mode="after")
    def _one_language(self) -> Self:
        if self.consistency is None and len(self.to or ()) > 1:
            raise ValueError("give one language 'to' translate to, or a 'consistency'")
        return self


class Recipe(Part):
    """A named system."""

    name: str = Field(description="what the recipe is called")
    paper: str = Field(description="where it comes from")
    summary: str = Field(description="one line")
    data: DataRecipe = DataRecipe()
    image: ImageRecipe = ImageRecipe()
    text: TextRecipe = TextRecipe()
    universal: UniversalRecipe = UniversalRecipe()
    joint: JointRecipe = JointRecipe()
    attention: AttentionRecipe = AttentionRecipe()
    augment: AugmentRecipe = AugmentRecipe()
    loss: LossRecipe = LossRecipe()
    tasks: TasksRecipe = TasksRecipe()
    constraints: ConstraintsRecipe = ConstraintsRecipe()
    transfer: TransferRecipe = TransferRecipe()
    training: TrainingRecipe = TrainingRecipe()
    compat: CompatRecipe = CompatRecipe()
    translation: TranslationRecipe = TranslationRecipe()
