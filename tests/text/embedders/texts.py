"""Training captions to build embedders from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.text.embedders import Embedder, EncodedTexts, TrainingTexts


def training_texts(
    captions: Mapping[str, Sequence[str]],
    dataset: Dataset | None = None,
    cache: Path | None = None,
) -> TrainingTexts:
    """Captions by language, of an image each; words are what spaces part."""
    rows = [(text, code) for code, texts in captions.items() for text in texts]
    texts, codes = [row[0] for row in rows], [row[1] for row in rows]
    table = CaptionTable(texts, np.arange(len(rows)), codes, ["independent"] * len(rows))
    return TrainingTexts(table, [text.split() for text in texts], dataset, cache, False)


def encode(
    embedder: Embedder, texts: Sequence[str], code: str | Sequence[str | None] | None = "en"
) -> EncodedTexts:
    """Texts whose words are what spaces part, of one language or of one each."""
    codes = [code] * len(texts) if isinstance(code, str | None) else code
    return embedder.encode(texts, [text.split() for text in texts], codes)


def ids_of(
    embedder: Embedder, texts: Sequence[str], code: str | Sequence[str | None] | None = "en"
) -> list[list[int]]:
    """The ids that `encode` gives, as lists."""
    return [row.tolist() for row in encode(embedder, texts, code).ids]
