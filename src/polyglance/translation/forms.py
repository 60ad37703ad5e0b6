"""Finds the lemmas of inflected words in a lexicon, without a lemmatiser."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from polyglance.text.inflection import (
    SHORTEST_FORM,
    SHORTEST_STEM,
    InflectionIndex,
    InflectionRule,
)

_IRREGULAR = {
    **{"men": "man", "women": "woman", "children": "child", "feet": "foot", "teeth": "tooth"},
    **{"wolves": "wolf", "knives": "knife", "leaves": "leaf", "scarves": "scarf", "ran": "run"},
    **{"sat": "sit", "stood": "stand", "wore": "wear", "held": "hold", "rode": "ride"},
    **{"caught": "catch", "lying": "lie", "swam": "swim", "took": "take", "ate": "eat"},
    **{"drove": "drive", "threw": "throw", "flew": "fly"},
}
_ENDINGS = {
    **{"ies": ["y"], "ied": ["y"], "es": ["", "e"], "s": [""]},
    **{"ing": ["", "e"], "ed": ["", "e"]},
}
RULE = InflectionRule(
    SHORTEST_FORM, shared_of_entry=0, longest_ending=4, longest_rest=3, rest_weight=0.5
)
SHORTEST_ENGLISH_FORM = 5
"""English has rules for shorter words, and "the" is not a form of "then"."""


def english_lemmas(word: str) -> Iterator[str]:
    """Possible lemmas of an English word; some are not words.

    >>> list(english_lemmas("running"))
    ['runn', 'runne', 'run']
    """
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    for ending, replacements in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        yield from (stem + replacement for replacement in replacements)
        if stem[-1] == stem[-2]:
            yield stem[:-1]


class Lemmas:
    """The words of a lexicon in one language, and lookup of the lemmas of a form."""

    def __init__(self, words: Iterable[str], language: str) -> None:
        self.english = language == "en"
        rule = replace(RULE, shortest_form=SHORTEST_ENGLISH_FORM) if self.english else RULE
        self._index = InflectionIndex((word for word in words if " " not in word), rule)

    def of(self, word: str, known: Container[str]) -> list[str]:
        """The word and its likely lemmas, if `known`; otherwise the closest in spelling."""
        found = [word] if word in known else []
        if self.english:
            stems = (stem for stem in english_lemmas(word) if len(stem) >= SHORTEST_STEM)
            found += [stem for stem in stems if stem in known]
        if not found and (close := self._index.closest(word)) is not None:
            found = [close]
        return list(dict.fromkeys(found))
