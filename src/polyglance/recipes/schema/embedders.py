"""Embedders of a recipe, one variant each."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from polyglance.core.sections import OpenUnion, UnionByKind, Variant


class EmbedderRecipe(OpenUnion, Variant):
    """Maps words to vectors; registering an embedder adds its variants (see Embedder)."""


class TableEmbedderRecipe(EmbedderRecipe):
    """A trained vector for every word of a vocabulary."""

    kind: Literal["table"] = "table"
    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    min_count: int = Field(4, ge=1, description="rarer words are unknown")
    scope: Literal["pooled", "per-language"] = Field(
        "pooled", description="count words over all languages, or in each one"
    )
    ends: bool = Field(True, description="put <start> and <end> around a caption")
    vectors: str | None = Field(
        None, description="file of initial word vectors, which are trained further"
    )


class RolesEmbedderRecipe(TableEmbedderRecipe):
    """A table of words, and semantic roles of captions from a file (HGR, §3.1)."""

    kind: Literal["roles"] = "roles"  # type: ignore[assignment]
    ends: bool = Field(False, description="must be false: positions in graphs count words only")
    graphs: str | None = Field(
        None,
        description="HGR's sent2rolegraph.augment.json; null for the one in the dataset's folder",
    )
    verbs: int = Field(4, ge=1, description="most actions per caption")
    entities: int = Field(6, ge=1, description="most entities per caption")


class CharacterEmbedderRecipe(EmbedderRecipe):
    """Word vectors from characters."""

    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    char_dim: int = Field(24, gt=0, description="dimension of a character's vector")
    word_length: int = Field(
        26, ge=1, description="longest word in characters; longer ones are cut"
    )
    alphabet: Literal["data", "lavse"] = Field(
        "data", description="characters of the training captions, or the authors' 101"
    )
    min_count: int = Field(4, ge=1, description="rarer characters are unknown")
    vectors: str | None = Field(
        None, description="file of pretrained word vectors, concatenated with those from characters"
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
    """Subwords of a transformer encoder's own tokenizer."""

    kind: Literal["pieces"] = "pieces"


class TransformerEmbedderRecipe(EmbedderRecipe):
    """Outputs of a frozen pretrained transformer."""

    kind: Literal["transformer"] = "transformer"
    pretrained: str | None = Field(
        None, description="folder of a Hugging Face encoder and its tokenizer"
    )


class SubwordsEmbedderRecipe(EmbedderRecipe):
    """Hashed words and character n-grams of any language, without unknown words.

    With `pieces`, the pieces of a sentence encoder (`text.encoder.kind=sentence`) as well.
    """

    kind: Literal["subwords"] = "subwords"
    pieces: bool = Field(False, description="also read the sentence encoder's pieces (subwords)")
    kept_pieces: int | None = Field(
        None,
        ge=0,
        description="number of most probable pieces to keep, in addition to all characters and the "
        "pieces of training texts; null for all",
    )
    piece_texts: list[str] = Field(
        [],
        description="files whose pieces are kept as well: lines of text, captions (.jsonl), or a "
        "lexicon (.tsv), optionally gzipped",
    )
    buckets: int = Field(
        65_536, ge=0, description="number of hash buckets, with one vector each; 0 for no hashing"
    )
    ngram: int = Field(
        4, ge=2, description="length of n-grams in characters; 1-3 for scripts without spaces"
    )
    word_dim: int = Field(300, gt=0, description="dimension of a subword's vector")

    @model_validator(mode="after")
    def _reads_something(self) -> Self:
        if not self.pieces and not self.buckets:
            raise ValueError("either pieces or buckets must be set, or there is nothing to read")
        if self.kept_pieces is not None and not self.pieces:
            raise ValueError("kept_pieces needs pieces=true")
        if self.piece_texts and self.kept_pieces is None:
            raise ValueError("piece_texts needs kept_pieces")
        return self


class VectorsEmbedderRecipe(EmbedderRecipe):
    """Fixed word vectors of each language, with translators (Liu et al. 2019, §2)."""

    kind: Literal["vectors"] = "vectors"
    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    vectors: str | None = Field(
        None, description="folder with CODE.vec or CODE.bin; null to train them on captions"
    )
    trained: Literal["cooccurrence", "skipgram"] = Field(
        "cooccurrence", description="how to train vectors on captions"
    )
    known: int = Field(20_000, ge=1, description="number of frequent words to keep")
    centre: bool = Field(True, description="subtract the language's mean")
    copy_subwords: bool = Field(
        False, description="copy CODE.bin into the model folder, for unseen words on other machines"
    )


class DropRare(Variant):
    """Rare words are dropped."""

    kind: Literal["drop"] = "drop"


class LearnedAssignment(Variant):
    """Tokens learned before training, so that captions of an image have similar averages."""

    explore: float = Field(
        0.2, ge=0, le=1, description="probability p of another token than the best while assigning"
    )
    candidates: int = Field(20, ge=1, description="the best M tokens to explore among")
    epochs: int = Field(5, ge=1, description="epochs for learning the tokens")
    updates: int | None = Field(None, ge=1, description="updates instead of epochs")
    lr: float = Field(1e-3, gt=0, description="learning rate")
    soft: float = Field(
        0.0, ge=0, le=1, description="share of updates, the first, with mixtures of the best tokens"
    )
    warmup: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of updates, the first, with all negatives instead of the nearest",
    )


class PaperAssignment(LearnedAssignment):
    """A layer per language on word vectors scores tokens, as in the paper."""

    kind: Literal["paper"] = "paper"


class AlignedAssignment(LearnedAssignment):
    """Keys shared by all languages score tokens."""

    kind: Literal["aligned"] = "aligned"
    queries: Literal["images", "vectors"] = Field(
        "images",
        description="queries to match with the keys: vectors of the images (and text-only tuples) "
        "that have a word, or the embedder's own, which must be aligned across languages",
    )


class RandomAssignment(Variant):
    """Random tokens, as a control."""

    kind: Literal["random"] = "random"


AssignmentRecipe = Annotated[PaperAssignment | AlignedAssignment | RandomAssignment, UnionByKind()]


class LatentRare(Variant):
    """Rare words share latent tokens (Burns et al. 2020, SMALR, §3.1)."""

    kind: Literal["latent"] = "latent"
    tokens: int = Field(40_000, ge=2, description="most latent tokens; unused ones are removed")
    assignment: AssignmentRecipe = Field(
        PaperAssignment(), description="how words are assigned to tokens"
    )


class DictionaryRare(Variant):
    """Rare words are translated to a pivot language (Burns et al. 2020, SMALR, Table 2)."""

    kind: Literal["dictionary"] = "dictionary"
    pivot: str = Field("en", description="the language that rare words are translated to")


RareRecipe = Annotated[DropRare | LatentRare | DictionaryRare, UnionByKind()]


class UniversalEmbedderRecipe(EmbedderRecipe):
    """Words of all languages in one space (Kim et al. 2020, MULE; Burns et al. 2020, SMALR, §3.1).

    Frequent words have their own vectors, mapped to the shared space by a linear layer of their
    language; `rare` determines the treatment of the others. Words that are not in the training
    captions are dropped.
    """

    kind: Literal["universal"] = "universal"
    word_dim: int = Field(300, gt=0, description="dimension of the shared space")
    min_count: int = Field(4, ge=1, description="rarer words are dropped")
    vectors: str | None = Field(
        None, description="folder of pretrained CODE.vec or CODE.bin; null to train them"
    )
    vector_dim: int = Field(300, gt=0, description="dimension of trained vectors")
    corpus: Literal["captions", "texts", "lexicon"] = Field(
        "texts",
        description="what vectors are trained on: training captions; also the folder's text-only "
        "ones; also synonyms of the lexicon",
    )
    own_dim: int = Field(
        300, gt=0, description="dimension of a word's own vector; larger ones are reduced by PCA"
    )
    frequent: int | None = Field(
        None, ge=0, description="words per language with their own vector; null for all"
    )
    frequent_count: int = Field(1, ge=1, description="words with a lower count are rare, too")
    rare: RareRecipe = Field(DropRare(), description="treatment of rare words")
    lexicon: str | None = Field(
        None,
        description="lexicon.tsv.gz for dictionaries and synonyms, or a folder of MUSE's "
        "dictionaries such as de-en.txt; null for $POLYGLANCE_LEXICON",
    )
    stored: bool = Field(
        False, description="whether word vectors are stored, as written by 'polyglance compact'"
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
