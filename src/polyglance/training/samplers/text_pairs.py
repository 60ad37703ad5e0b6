"""Pairs of texts in two languages, from text-only tuples."""

from itertools import accumulate, pairwise

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import ImageSampling
from polyglance.training.inputs.by_language import ByLanguage
from polyglance.training.inputs.tuple_texts import TupleTexts

PIVOT = "en"


class TextPairs:
    """Two texts from each of some tuples; each file gives its share of them."""

    def __init__(self, settings: ImageSampling, texts: TupleTexts | None) -> None:
        self.settings = settings
        self.files = [] if texts is None else [_Tuples(texts, part) for part in texts.files]
        parts = settings.text_shares or [1] * len(self.files)
        ends = [settings.text_pairs * end // sum(parts) for end in accumulate(parts)]
        self.shares = [end - start for start, end in pairwise([0, *ends])]

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """Rows [P, 2] of `texts` with the same meaning in two languages."""
        drawn = [
            tuples.draw(share, self.settings.text_pivot, generator)
            for tuples, share in zip(self.files, self.shares, strict=True)
        ]
        return np.concatenate(drawn) if drawn else np.empty((0, 2), np.int64)


class _Tuples:
    """The tuples of a file with at least two languages."""

    def __init__(self, texts: TupleTexts, part: slice) -> None:
        rows = np.arange(len(texts))[part]
        self.texts = ByLanguage(rows, texts.tuple_of[part], texts.languages[part])
        self.several = np.flatnonzero(self.texts.count > 1)
        if not len(self.several):
            raise PolyglanceError(
                "a file of text-only tuples has no tuple with two languages that the model reads; "
                "leave it out of sampling.text_files, or set sampling.text_only=false"
            )
        groups = np.flatnonzero(self.texts.language == PIVOT)
        self.pivot = np.full(len(self.texts), -1)
        owner = np.searchsorted(self.texts.first, groups, side="right") - 1
        self.pivot[owner] = groups - self.texts.first[owner]

    def draw(self, count: int, chance: float, generator: np.random.Generator) -> np.ndarray:
        """Rows [n, 2]; n is `count`, or the number of tuples if smaller.

        Args:
            count: tuples.
            chance: probability of English as the first of the two, if a tuple has it.
            generator: random generator.
        """
        count = min(count, len(self.several))
        chosen = self.several[generator.choice(len(self.several), count, replace=False)]
        draws = generator.random((5, count))
        languages, pivot = self.texts.count[chosen], self.pivot[chosen]
        has = pivot >= 0
        first = np.floor(draws[1] * (languages - has)).astype(np.int64)
        first += has & (first >= pivot)
        first = np.where(has & (draws[0] < chance), pivot, first)
        second = np.floor(draws[2] * (languages - 1)).astype(np.int64)
        second += second >= first
        start = self.texts.first[chosen]
        pair = [
            self.texts.texts(start + place, draw)
            for place, draw in ((first, draws[3]), (second, draws[4]))
        ]
        return np.stack(pair, 1)
