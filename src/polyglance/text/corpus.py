"""Sentences to train word vectors on: captions of a dataset, plain text, synonyms."""

from collections.abc import Collection
from pathlib import Path

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.text_only import FILE, text_only_captions
from polyglance.errors import PolyglanceError
from polyglance.files import read_lines
from polyglance.text.tokenize import tokenize_many

Sentences = list[list[str]]
"""Words of each sentence."""


def caption_sentences(
    dataset: Dataset, languages: Collection[str], split: str = "train", tokenizer: str = "words"
) -> dict[str, Sentences]:
    """The captions of a split and the folder's text-only tuples, by language."""
    part = dataset.split(split)
    tables = [part.captions(sorted(languages))]
    if dataset.root is not None and (dataset.root / FILE).is_file():
        tables.append(text_only_captions(dataset, languages, len(part)))
    return {code: _sentences(tables, code, tokenizer) for code in sorted(languages)}


def _sentences(tables: list[CaptionTable], code: str, tokenizer: str) -> Sentences:
    texts = [
        text
        for table in tables
        for text, language in zip(table.texts, table.languages, strict=True)
        if language == code
    ]
    return tokenize_many(texts, code, tokenizer)


def text_sentences(path: Path, language: str, tokenizer: str = "words") -> Sentences:
    """A plain text file, a sentence a line."""
    lines = [line for _, line in read_lines(path) if line.strip()]
    if not lines:
        raise PolyglanceError(f"{path}: the file is empty")
    return tokenize_many(lines, language, tokenizer)
