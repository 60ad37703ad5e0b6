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
    """Distinct keys of all parts, sorted, and how often each occurs, [n] int64 both.

    Some million keys are counted at a time, which bounds the memory.

    >>> [found.tolist() for found in count_keys([np.array([3, 1]), np.array([3])])]
    [[1, 3], [1, 2]]
    """
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[np.ndarray] = []
    for part in chain(parts, [None]):
        if part is not None:
            waiting.append(part)
        if waiting and (part is None or sum(map(len, waiting)) > KEYS_AT_A_TIME):
            new, times = np.unique(np.concatenate(waiting), return_counts=True)
            keys, inverse = np.unique(np.concatenate([keys, new]), return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([counts, times])).astype(np.int64)
            waiting = []
    return keys, counts


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
    if text_only_file(dataset) is None:
        return {code: [] for code in languages}
    table = text_only_captions(dataset, languages, 0)
    return {code: _sentences(table, code, tokenizer) for code in languages}


def _sentences(table: CaptionTable, code: str, tokenizer: str) -> Sentences:
    captions = zip(table.texts, table.languages, strict=True)
    return tokenize_many([text for text, one in captions if one == code], code, tokenizer)


def text_sentences(path: Path, language: str, tokenizer: str = "words") -> Sentences:
    """The sentences of a plain text file.

    Args:
        path: the file, one sentence per line.
        language: of the file.
        tokenizer: how sentences are cut into words.
    """
    lines = [line for _, line in read_lines(path) if line.strip()]
    if not lines:
        raise PolyglanceError(f"{path}: the file is empty")
    return tokenize_many(lines, language, tokenizer)
