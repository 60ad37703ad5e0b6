"""The joint space of a recipe, and its similarity."""

from typing import Annotated, Literal

from pydantic import Field

from polyglance.core.sections import Section, UnionByKind, Variant


class CosineRecipe(Variant):
    """Cosine of two embeddings."""

    kind: Literal["cosine"] = "cosine"


class OrderRecipe(Variant):
    """Order violation of non-negative embeddings (Vendrov et al. 2016, §3)."""

    kind: Literal["order"] = "order"
    squared: bool = Field(False, description="use the squared violation, as in the authors' code")


class ScanRecipe(Variant):
    """Stacked cross-attention (Lee et al. 2018, SCAN, §3.1)."""

    kind: Literal["scan"] = "scan"
    direction: Literal["t2i", "i2t"] = Field(
        "t2i",
        description="words attend to the image, or its vectors to the words; for both, average two "
        "models with 'evaluate A B --ensemble'",
    )
    smooth: float = Field(9.0, gt=0, description="inverse temperature λ₁ of the attention")
    lse: float | None = Field(
        None, gt=0, description="λ₂ of LogSumExp over the queries' cosines; null for their mean"
    )


class ImramRecipe(Variant):
    """Cross-attention in several steps with a memory (Chen et al. 2020, IMRAM, §3)."""

    kind: Literal["imram"] = "imram"
    direction: Literal["t2i", "i2t", "both"] = Field(
        "t2i", description="words attend to the image, its vectors to the words, or both"
    )
    smooth: float = Field(9.0, gt=0, description="inverse temperature λ of the attention")
    steps: int = Field(3, ge=1, description="matching steps K")


class HgrRecipe(Variant):
    """Events, actions and entities, each compared with frames (Chen et al. 2020, HGR, §3)."""

    kind: Literal["hgr"] = "hgr"
    smooth: float = Field(4.0, gt=0, description="inverse temperature λ of the attention")
    graph_layers: int = Field(1, ge=1, description="layers of the graph network over roles")
    graph_dropout: float = Field(0.5, ge=0, lt=1, description="on the messages of nodes")


SimilarityRecipe = Annotated[
    CosineRecipe | OrderRecipe | ScanRecipe | ImramRecipe | HgrRecipe, UnionByKind()
]


class JointRecipe(Section):
    """The joint space of images and texts."""

    dim: int = Field(1024, gt=0, description="dimension of an embedding")
    similarity: SimilarityRecipe = Field(CosineRecipe(), description="compares embeddings")

    @property
    def attends(self) -> bool:
        """Whether embeddings are sets of vectors, compared by cross-attention."""
        return self.similarity.kind in ("scan", "imram", "hgr")
