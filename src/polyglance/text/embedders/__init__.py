"""Embedders, which map words to vectors; one module or package each.

Encoding texts as ids needs no torch, so modules with layers are imported on first use.
"""

from typing import TYPE_CHECKING, Any

from polyglance.text.embedders.added import AddedEmbedder
from polyglance.text.embedders.base import (
    Embedder,
    Substitutes,
    TrainingTexts,
    build_embedder,
    embedders,
    load_embedder,
    register,
)
from polyglance.text.embedders.characters.embedder import CharacterEmbedder
from polyglance.text.embedders.encoded import EncodedTexts, TextBatch
from polyglance.text.embedders.fixed.embedder import VectorsEmbedder
from polyglance.text.embedders.roles import RolesEmbedder
from polyglance.text.embedders.subwords.embedder import SubwordEmbedder
from polyglance.text.embedders.table import TableEmbedder
from polyglance.text.embedders.transformer import PieceEmbedder
from polyglance.text.embedders.universal.embedder import UniversalEmbedder
from polyglance.text.embedders.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polyglance.text.embedders.layer import WordLayer

__all__ = [
    "AddedEmbedder",
    "CharacterEmbedder",
    "Embedder",
    "EncodedTexts",
    "PieceEmbedder",
    "RolesEmbedder",
    "Substitutes",
    "SubwordEmbedder",
    "TableEmbedder",
    "TextBatch",
    "TrainingTexts",
    "UniversalEmbedder",
    "VectorsEmbedder",
    "Vocabulary",
    "WordLayer",
    "build_embedder",
    "embedders",
    "load_embedder",
    "register",
]


def __getattr__(name: str) -> Any:
    if name != "WordLayer":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from polyglance.text.embedders.layer import WordLayer

    return WordLayer
