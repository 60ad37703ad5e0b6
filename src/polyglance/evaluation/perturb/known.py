"""Words of the training captions, which models can be assumed to know."""

from collections import Counter

import regex

from polyglance.data.dataset import Dataset
from polyglance.data.text_only import text_only_captions, text_only_file
from polyglance.evaluation.perturb.words import words_of

SPLIT = "train"
COMMON = 10
"""Minimum count of a letter to be used in typos."""
_LETTER = regex.compile(r"\p{L}")


class KnownWords:
    """Counts of words by language, cached: of the split `train`, or else of all captions."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.part = dataset.split(SPLIT) if SPLIT in dataset.splits else dataset
        self.languages = self.part.languages
        self._counts: dict[str, Counter[str]] = {}
        self._more: dict[str, list[str]] | None = None

    def counts(self, language: str) -> Counter[str]:
        """Counts of the words in a language's captions; empty for an unknown language."""
        if language not in self._counts:
            texts = self.part.captions([language]).texts if language in self.languages else []
            self._counts[language] = _count(texts, language)
        return self._counts[language]

    def wider(self, language: str) -> Counter[str]:
        """Counts that include the dataset's text-only tuples, if any."""
        if self._more is None:
            self._more = self._text_only()
        return self.counts(language) + _count(self._more.get(language, []), language)

    def letters(self, language: str) -> list[str]:
        """Common letters, sorted."""
        found: Counter[str] = Counter()
        for word, times in self.counts(language).items():
            for letter in _LETTER.findall(word):
                found[letter] += times
        return sorted(letter for letter, n in found.items() if n >= COMMON)

    def _text_only(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        if text_only_file(self.dataset) is not None:
            table = text_only_captions(self.dataset, self.languages, 0)
            for text, code in zip(table.texts, table.languages, strict=True):
                texts.setdefault(code, []).append(text)
        return texts


def _count(texts: list[str], language: str) -> Counter[str]:
    return Counter(word for text in texts for word in words_of(text, language))
