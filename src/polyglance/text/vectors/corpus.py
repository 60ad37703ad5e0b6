"""Sentences to train word vectors on: captions of a dataset, plain text, synonyms."""

from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.text_only import text_only_captions, text_only_file
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_lines
from polyglance.text.tokenizers.base import tokenize_many

KEYS_AT_A_TIME = 1 << 22

Sentences = list[list[str]]
"""Words of each sentence."""


def count_keys(parts: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys of all parts, sorted, and their counts, both [n] int64.

    Keys are counted a few million at a time, to bound the memory.

    >>> [found.tolist() for found in count_keys([np.array([3, 1]), np.array([3])])]
    [[1, 3], [1, 2]]
    """
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    pending: list[np.ndarray] = []
    for part in chain(parts, [None]):
        if part is not None:
            pending.append(part)
        if pending and (part is None or sum(map(len, pending)) > KEYS_AT_A_TIME):
            new, times = np.unique(np.concatenate(pending), return_counts=True)
            keys, inverse = np.unique(np.concatenate([keys, new]), return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([counts, times])).astype(np.int64)
            pending = []
    return keys, counts


def caption_sentences(
    dataset: Dataset, languages: Collection[str], split: str = "train", tokenizer: str = "words"
) -> dict[str, Sentences]:
    """The captions of a split and the folder's text-only tuples, by language.

    Args:
        dataset: source of the captions.
        languages: to include.
        split: name of the split.
        tokenizer: name of the tokenizer.
    """
    table = dataset.split(split).captions(sorted(languages))
    others = text_only_sentences(dataset, languages, tokenizer)
    return {code: _sentences(table, code, tokenizer) + others[code] for code in sorted(languages)}


def text_only_sentences(
    dataset: Dataset, languages: Collection[str], tokenizer: str = "words"
) -> dict[str, Sentences]:
    """The text-only tuples of a dataset's folder, by language; empty if it has none.

    Args:
        dataset: source of the texts.
        languages: to include.
        tokenizer: name of the tokenizer.
    """
    if text_only_file(dataset) is None:
        return {code: [] for code in languages}
    table = text_only_captions(dataset, languages, 0)
    return {code: _sentences(table, code, tokenizer) for code in languages}


def _sentences(table: CaptionTable, code: str, tokenizer: str) -> Sentences:
    captions = zip(table.texts, table.languages, strict=True)
    return tokenize_many([text for text, one in captions if one == code], code, tokenizer)


def text_sentences(path: Path, language: str) -> Sentences:
    """The sentences of a plain text file in a language, one per line."""
    lines = [line for _, line in read_lines(path) if line.strip()]
    if not lines:
        raise PolyglanceError(f"{path}: the file is empty")
    return tokenize_many(lines, language)
