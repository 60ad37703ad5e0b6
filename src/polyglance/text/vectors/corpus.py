"""Sentences to train word vectors on: captions of a dataset, plain text, synonyms."""

from collections.abc import Collection
from pathlib import Path

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.text_only import FILE, text_only_captions
from polyglance.errors import PolyglanceError
from polyglance.files import read_lines
from polyglance.text.tokenizers.base import tokenize_many

Sentences = list[list[str]]
"""Words of each sentence."""


def caption_sentences(
    dataset: Dataset, languages: Collection[str], split: str = "train", tokenizer: str = "words"
) -> dict[str, Sentences]:
    """The captions of a split and the folder's text-only tuples, by language.

    Args:
        dataset: whose captions.
        languages: the languages wanted.
        split: the split's name.
        tokenizer: how captions are cut into words.
    """
    table = dataset.split(split).captions(sorted(languages))
    others = text_only_sentences(dataset, languages, tokenizer)
    return {code: _sentences(table, code, tokenizer) + others[code] for code in sorted(languages)}


def text_only_sentences(
    dataset: Dataset, languages: Collection[str], tokenizer: str = "words"
) -> dict[str, Sentences]:
    """The folder's text-only tuples, by language; none without such a file.

    Args:
        dataset: whose folder.
        languages: the languages wanted.
        tokenizer: how texts are cut into words.
    """
    if dataset.root is None or not (dataset.root / FILE).is_file():
        return {code: [] for code in languages}
    table = text_only_captions(dataset, languages, 0)
    return {code: _sentences(table, code, tokenizer) for code in languages}


def _sentences(table: CaptionTable, code: str, tokenizer: str) -> Sentences:
    captions = zip(table.texts, table.languages, strict=True)
    return tokenize_many([text for text, one in captions if one == code], code, tokenizer)


def text_sentences(path: Path, language: str, tokenizer: str = "words") -> Sentences:
    """The sentences of a plain text file.

    Args:
        path: the file, a sentence a line.
        language: of the file.
        tokenizer: how sentences are cut into words.
    """
    lines = [line for _, line in read_lines(path) if line.strip()]
    if not lines:
        raise PolyglanceError(f"{path}: the file is empty")
    return tokenize_many(lines, language, tokenizer)
