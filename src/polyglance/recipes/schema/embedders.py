"""How words become vectors: one variant for each embedder."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import Kinds, Open, Variant


class EmbedderRecipe(Open, Variant):
    """How words become vectors; an embedder that is registered adds its own (see Embedder)."""


class TableEmbedderRecipe(EmbedderRecipe):
    """A trained vector for every word of a vocabulary."""

    kind: Literal["table"] = "table"
    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    min_count: int = Field(4, ge=1, description="rarer words are unknown")
    scope: Literal["pooled", "per-language"] = Field(
        "pooled", description="count words over all languages, or within each"
    )
    ends: bool = Field(True, description="put <start> and <end> around a caption")
    vectors: str | None = Field(
        None, description="file of word vectors to begin with; training changes them"
    )


class RolesEmbedderRecipe(TableEmbedderRecipe):
    """A table whose captions have semantic roles, from a file (Chen et al. 2020, HGR)."""

    kind: Literal["roles"] = "roles"  # type: ignore[assignment]
    ends: bool = Field(False, description="must stay false: places count words alone")
    graphs: str | None = Field(
        None,
        description="sent2rolegraph.augment.json of HGR; null is the one in the dataset's folder",
    )
    verbs: int = Field(4, ge=1, description="actions of a caption at most")
    entities: int = Field(6, ge=1, description="entities of a caption at most")


class CharacterEmbedderRecipe(EmbedderRecipe):
    """Word vectors from characters."""

    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    char_dim: int = Field(24, gt=0, description="dimension of a character's vector")
    word_length: int = Field(26, ge=1, description="longer words are cut, in characters")
    alphabet: Literal["data", "lavse"] = Field(
        "data", description="characters of the training captions, or the authors' 101"
    )
    min_count: int = Field(4, ge=1, description="rarer characters are unknown")
    vectors: str | None = Field(
        None, description="file of pretrained word vectors beside those from characters"
    )
    ends: bool = Field(True, description="<start> and <end> are characters of the outer words")


class LiweEmbedderRecipe(CharacterEmbedderRecipe):
    """Concatenated character vectors through linear layers (Wehrmann et al. 2019, §3.1)."""

    kind: Literal["liwe"] = "liwe"
    layers: list[Annotated[int, Field(gt=0)]] = Field(
        [384, 448], description="hidden units, the paper's (f1, f2)"
    )


class CharGruEmbedderRecipe(CharacterEmbedderRecipe):
    """A GRU over the characters of a word (Wehrmann et al. 2019, §4)."""

    kind: Literal["chargru"] = "chargru"


class PiecesEmbedderRecipe(EmbedderRecipe):
    """Pieces of words, as a transformer encoder's own tokenizer cuts them."""

    kind: Literal["pieces"] = "pieces"


class TransformerEmbedderRecipe(EmbedderRecipe):
    """Outputs of a frozen pretrained transformer."""

    kind: Literal["transformer"] = "transformer"
    pretrained: str | None = Field(
        None, description="folder of a Hugging Face encoder and its tokenizer"
    )


class SubwordsEmbedderRecipe(EmbedderRecipe):
    """Hashed words and character n-grams of any language, of which none is unknown.

    With `pieces`, the pieces of a sentence encoder (`text.encoder.kind=sentence`) come before.
    """

    kind: Literal["subwords"] = "subwords"
    pieces: bool = Field(False, description="read the sentence encoder's pieces of words, too")
    kept_pieces: int | None = Field(
        None,
        ge=0,
        description="the most probable pieces that are read, beside all characters and what the "
        "training's texts use; null reads all",
    )
    piece_texts: list[str] = Field(
        [],
        description="files whose pieces are kept as well: lines of text, captions (.jsonl), or a "
        "lexicon (.tsv), .gz or not",
    )
    buckets: int = Field(
        65_536, ge=0, description="hashed subwords of one bucket have one vector; 0 has none"
    )
    ngram: int = Field(
        4, ge=2, description="characters of a subword; of scripts without spaces 1-3"
    )
    word_dim: int = Field(300, gt=0, description="dimension of a subword's vector")

    @model_validator(mode="after")
    def _reads_something(self) -> Self:
        if not self.pieces and not self.buckets:
            raise ValueError("neither pieces nor buckets: there would be nothing to read")
        if self.kept_pieces is not None and not self.pieces:
            raise ValueError("kept_pieces are some of the pieces: set pieces to true")
        if self.piece_texts and self.kept_pieces is None:
            raise ValueError("piece_texts say which pieces are kept: set kept_pieces")
        return self


class VectorsEmbedderRecipe(EmbedderRecipe):
    """Fixed word vectors of each language, with translators (Liu et al. 2019)."""

    kind: Literal["vectors"] = "vectors"
    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    vectors: str | None = Field(
        None, description="folder with CODE.vec or CODE.bin; null makes them from captions"
    )
    trained: Literal["cooccurrence", "skipgram"] = Field(
        "cooccurrence", description="how vectors are made from captions"
    )
    known: int = Field(20_000, ge=1, description="frequent words that a model keeps")
    centre: bool = Field(True, description="subtract the language's mean")
    copy_subwords: bool = Field(
        False, description="copy CODE.bin into the model, so that it reads unseen words anywhere"
    )


class DropRare(Variant):
    """Rare words are dropped."""

    kind: Literal["drop"] = "drop"


class LearnedAssignment(Variant):
    """Tokens learned before the training: captions of one image shall have near averages."""

    explore: float = Field(
        0.2, ge=0, le=1, description="chance p of another token than the best while assigning"
    )
    candidates: int = Field(20, ge=1, description="the best M tokens to explore among")
    epochs: int = Field(5, ge=1, description="epochs to learn the tokens in")
    updates: int | None = Field(None, ge=1, description="updates of it, instead of epochs")
    lr: float = Field(1e-3, gt=0, description="learning rate of it")
    soft: float = Field(
        0.0, ge=0, le=1, description="first share of its updates: mixtures of the best tokens"
    )
    warmup: float = Field(
        0.0, ge=0, le=1, description="first share of its updates: all negatives, not the nearest"
    )


class PaperAssignment(LearnedAssignment):
    """A layer of each language on its words' vectors scores tokens, as the paper has it."""

    kind: Literal["paper"] = "paper"


class AlignedAssignment(LearnedAssignment):
    """Keys that languages share score tokens."""

    kind: Literal["aligned"] = "aligned"
    queries: Literal["images", "vectors"] = Field(
        "images",
        description="what keys are asked with: vectors of which images (and text-only tuples) "
        "have a word, or the embedder's own, which must be aligned across languages",
    )


class RandomAssignment(Variant):
    """Tokens drawn at random: a control."""

    kind: Literal["random"] = "random"


AssignmentRecipe = Annotated[PaperAssignment | AlignedAssignment | RandomAssignment, Kinds()]


class LatentRare(Variant):
    """Rare words share latent tokens (Burns et al. 2020, SMALR, §3.1)."""

    kind: Literal["latent"] = "latent"
    tokens: int = Field(40_000, ge=2, description="latent tokens at most; unused ones are deleted")
    assignment: AssignmentRecipe = Field(
        PaperAssignment(), description="which token a word becomes"
    )


class DictionaryRare(Variant):
    """Rare words become words of a pivot language (Burns et al. 2020, SMALR, Table 2)."""

    kind: Literal["dictionary"] = "dictionary"
    pivot: str = Field("en", description="the language that rare words are translated to")


RareRecipe = Annotated[DropRare | LatentRare | DictionaryRare, Kinds()]


class UniversalEmbedderRecipe(EmbedderRecipe):
    """Words of all languages in one space (Kim et al. 2020, MULE; Burns et al. 2020, SMALR).

    Frequent words have vectors of their own and a linear layer of their language to the shared
    space; `rare` says what becomes of the others. Words that the training captions lack are
    dropped.
    """

    kind: Literal["universal"] = "universal"
    word_dim: int = Field(300, gt=0, description="dimension of the space that languages share")
    min_count: int = Field(4, ge=1, description="rarer words are dropped")
    vectors: str | None = Field(
        None, description="folder of pretrained CODE.vec or CODE.bin; null trains them here"
    )
    vector_dim: int = Field(300, gt=0, description="dimension of vectors trained here")
    corpus: Literal["captions", "texts", "lexicon"] = Field(
        "texts",
        description="vectors are trained on the training captions; also on the folder's "
        "text-only ones; also on synonyms of the lexicon",
    )
    own_dim: int = Field(
        300, gt=0, description="dimension of a word's own vector; wider ones are reduced by PCA"
    )
    frequent: int | None = Field(
        None, ge=0, description="words per language with a vector of their own; null is all"
    )
    frequent_count: int = Field(1, ge=1, description="a word that occurs less often is rare, too")
    rare: RareRecipe = Field(DropRare(), description="what becomes of rare words")
    lexicon: str | None = Field(
        None,
        description="lexicon.tsv.gz for dictionaries and synonyms, or a folder of MUSE's "
        "dictionaries such as de-en.txt; null is $POLYGLANCE_LEXICON",
    )
    stored: bool = Field(
        False, description="words' vectors are stored, as 'polyglance compact' writes them"
    )


for _variant in (
    TableEmbedderRecipe,
    RolesEmbedderRecipe,
    LiweEmbedderRecipe,
    CharGruEmbedderRecipe,
    PiecesEmbedderRecipe,
    SubwordsEmbedderRecipe,
    TransformerEmbedderRecipe,
    UniversalEmbedderRecipe,
    VectorsEmbedderRecipe,
):
    EmbedderRecipe.add(_variant)
