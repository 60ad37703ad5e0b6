"""A dictionary induced from captions in two languages of the same images."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.text.dictionaries import Pairs

_PAIRS_AT_A_TIME = 1 << 22
"""Word pairs that are counted at a time, which bounds the memory."""


def parallel_captions(
    dataset: Dataset, source: str, target: str, text_only: bool = False
) -> tuple[CaptionTable, CaptionTable]:
    """Captions of both languages of training images, and text-only ones.

    Where both languages have captions that are translations, only those are taken: independent
    captions of an image mention different things.

    Args:
        dataset: its split `train` is read, or all of it where it has none.
        source: language of the first table.
        target: language of the second table.
        text_only: whether to read text-only captions alone.
    """
    from polyglance.data.text_only import FILE, text_only_captions

    part = dataset.split("train") if "train" in dataset.splits else dataset
    if text_only:
        tables = [text_only_captions(dataset, [language], 0) for language in (source, target)]
        wanted = _translated_kinds([set(table.kinds) for table in tables])
        return _of_kinds(tables[0], wanted), _of_kinds(tables[1], wanted)
    extra = dataset.root is not None and (dataset.root / FILE).is_file()
    kinds = _translated_kinds([set(part.captions([one]).kinds) for one in (source, target)])

    def captions(language: str) -> CaptionTable:
        table = part.captions([language], kinds)
        if not extra:
            return table
        others = text_only_captions(dataset, [language], len(part))
        return table.join(_of_kinds(others, kinds))

    return captions(source), captions(target)


def _translated_kinds(kinds: list[set[str]]) -> list[str] | None:
    """Kinds in which both languages say the same, human before machine ones; None is all."""
    if all("translation" in own for own in kinds):
        return ["translation"]
    both = all({"translation", "machine"} & own for own in kinds)
    return ["translation", "machine"] if both else None


def _of_kinds(table: CaptionTable, kinds: list[str] | None) -> CaptionTable:
    return table if kinds is None else table.take(np.flatnonzero(np.isin(table.kinds, kinds)))


def induced_pairs(
    source: CaptionTable, target: CaptionTable, least: int = 5, threshold: float = 0.3
) -> Pairs:
    """Words that are each other's best translation, the pair with the highest score first.

    The score of two words is their Dice coefficient over the images with captions in both
    languages: 2·both / (one + other).

    Args:
        source: captions of the source language.
        target: captions of the target language.
        least: words of fewer images are left out.
        threshold: pairs with a lower score are left out.
    """
    from polyglance.text.tokenizers.base import tokenize_many

    common = np.intersect1d(source.image, target.image)
    if len(common) == 0:
        raise PolyglanceError("the two languages share no image to learn a dictionary from")
    sides = [
        _Words(tokenize_many(table.texts, table.languages), table.image, common, least)
        for table in (source, target)
    ]
    keys, both = _count_pairs(*sides)
    rows, columns = np.divmod(keys, max(len(sides[1].words), 1))
    dice = 2 * both / (sides[0].counts[rows] + sides[1].counts[columns])
    keep = _best(rows, dice) & _best(columns, dice) & (dice >= threshold)
    order = np.flatnonzero(keep)[np.argsort(-dice[keep], kind="stable")]
    return [(sides[0].words[rows[i]], sides[1].words[columns[i]]) for i in order]


class _Words:
    """Which words each image has: `flat` word ids, image by image from `offsets` on."""

    def __init__(
        self, tokens: Sequence[Sequence[str]], image: np.ndarray, common: np.ndarray, least: int
    ) -> None:
        place = {int(number): index for index, number in enumerate(common)}
        groups: list[set[str]] = [set() for _ in common]
        for number, words in zip(image.tolist(), tokens, strict=True):
            if number in place:
                groups[place[number]].update(words)
        counted = Counter(word for group in groups for word in group)
        self.words = sorted(word for word, count in counted.items() if count >= least)
        self.counts = np.array([counted[word] for word in self.words], np.int64)
        ids = {word: index for index, word in enumerate(self.words)}
        parts = [sorted(ids[word] for word in group if word in ids) for group in groups]
        self.lengths = np.array([len(part) for part in parts], np.int64)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        self.flat = np.array([i for part in parts for i in part], np.int64)


def _count_pairs(source: _Words, target: _Words) -> tuple[np.ndarray, np.ndarray]:
    """Keys s·|T| + t of word pairs that share an image, sorted, and how many they share."""
    sizes = source.lengths * target.lengths
    chunk_of = np.cumsum(sizes) // _PAIRS_AT_A_TIME
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for chunk in np.unique(chunk_of):
        images = np.flatnonzero(chunk_of == chunk)
        image = np.repeat(images, sizes[images])
        inner = np.arange(len(image)) - np.repeat(
            np.cumsum(sizes[images]) - sizes[images], sizes[images]
        )
        left, right = np.divmod(inner, np.maximum(target.lengths[image], 1))
        found = source.flat[source.offsets[image] + left] * len(target.words)
        found += target.flat[target.offsets[image] + right]
        new_keys, new_counts = np.unique(found, return_counts=True)
        merged, inverse = np.unique(np.concatenate([keys, new_keys]), return_inverse=True)
        weights = np.concatenate([counts, new_counts])
        keys, counts = merged, np.bincount(inverse, weights).astype(np.int64)
    return keys, counts


def _best(groups: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Whether each score is the largest of its group, [n] bool."""
    largest = np.full(int(groups.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, groups, scores)
    return scores >= largest[groups]
