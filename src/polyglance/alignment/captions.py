"""Induces a dictionary from captions of the same images in two languages."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.text_only import text_only_captions, text_only_file
from polyglance.errors import PolyglanceError
from polyglance.text.dictionaries import Pairs
from polyglance.text.tokenizers.base import tokenize_many
from polyglance.text.vectors.corpus import count_keys


def parallel_captions(
    dataset: Dataset, source: str, target: str, text_only: bool = False
) -> tuple[CaptionTable, CaptionTable]:
    """Captions of training images in both languages, and text-only ones.

    If both languages have translations, only these are used, since independent captions of an image
    mention different things.

    Args:
        dataset: its split `train` is used, or all of it if it has none.
        source: language of the first table.
        target: language of the second table.
        text_only: whether to use only text-only captions.
    """
    part = dataset.split("train") if "train" in dataset.splits else dataset
    if text_only:
        tables = [text_only_captions(dataset, [language], 0) for language in (source, target)]
        wanted = _translated_kinds([set(table.kinds) for table in tables])
        return _of_kinds(tables[0], wanted), _of_kinds(tables[1], wanted)
    extra = text_only_file(dataset) is not None
    kinds = _translated_kinds([set(part.captions([one]).kinds) for one in (source, target)])

    def captions(language: str) -> CaptionTable:
        table = part.captions([language], kinds)
        if not extra:
            return table
        others = text_only_captions(dataset, [language], len(part))
        return table.join(_of_kinds(others, kinds))

    return captions(source), captions(target)


def _translated_kinds(kinds: list[set[str]]) -> list[str] | None:
    """Kinds that are translations in both languages, human ones if possible; None for all."""
    if all("translation" in own for own in kinds):
        return ["translation"]
    both = all({"translation", "machine"} & own for own in kinds)
    return ["translation", "machine"] if both else None


def _of_kinds(table: CaptionTable, kinds: list[str] | None) -> CaptionTable:
    return table if kinds is None else table.take(np.flatnonzero(np.isin(table.kinds, kinds)))


def induced_pairs(
    source: CaptionTable, target: CaptionTable, least: int = 5, threshold: float = 0.3
) -> Pairs:
    """Words that are each other's best translation, by decreasing score.

    The score of two words is their Dice coefficient over the images with captions in both
    languages: 2·both / (one + other).

    Args:
        source: captions of the source language.
        target: captions of the target language.
        least: minimum number of images with a word.
        threshold: minimum score.
    """
    common = np.intersect1d(source.image, target.image)
    if len(common) == 0:
        raise PolyglanceError("the two languages have no common image to learn a dictionary from")
    words, groups = group_words(source, common, least)
    others, other_groups = group_words(target, common, least)
    keys, both = _count_pairs(groups, other_groups, len(others))
    rows, columns = np.divmod(keys, max(len(others), 1))
    dice = (
        2 * both / (_counts(groups, len(words))[rows] + _counts(other_groups, len(others))[columns])
    )
    keep = _best(rows, dice) & _best(columns, dice) & (dice >= threshold)
    order = np.flatnonzero(keep)[np.argsort(-dice[keep], kind="stable")]
    return [(words[rows[i]], others[columns[i]]) for i in order]


def group_words(
    table: CaptionTable,
    common: np.ndarray,
    least: int,
    tokenizer: str = "words",
    known: Collection[str] | None = None,
) -> tuple[list[str], list[np.ndarray]]:
    """The frequent words, sorted, and their ids in each image's captions.

    Args:
        table: captions of one language.
        common: [n], the images to use.
        least: minimum number of images with a word.
        tokenizer: name of the tokenizer.
        known: words to consider; all by default.
    """
    place = {int(number): index for index, number in enumerate(common)}
    found: list[set[str]] = [set() for _ in place]
    tokens = tokenize_many(table.texts, table.languages, tokenizer)
    for number, words in zip(table.image.tolist(), tokens, strict=True):
        if number in place:
            found[place[number]].update(words)
    counts = Counter(word for group in found for word in group)
    kept = [w for w, n in counts.items() if n >= least and (known is None or w in known)]
    ids = {word: index for index, word in enumerate(sorted(kept))}
    groups = [np.array(sorted(ids[w] for w in group if w in ids), np.int64) for group in found]
    return list(ids), groups


def _count_pairs(
    groups: list[np.ndarray], others: list[np.ndarray], words: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keys s · words + t of word pairs that share an image, sorted, and their counts."""
    pairs = zip(groups, others, strict=True)
    return count_keys(np.add.outer(one * words, two).ravel() for one, two in pairs)


def _counts(groups: list[np.ndarray], words: int) -> np.ndarray:
    """Number of images with each word, [words]."""
    return np.bincount(np.concatenate(groups), minlength=words)


def _best(groups: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Whether each score is the largest of its group, [n] bool."""
    largest = np.full(int(groups.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, groups, scores)
    return scores >= largest[groups]
