"""From an inflected word to a lemma that a lexicon has, without a lemmatiser."""

from collections.abc import Container, Iterable, Iterator

from polyglance.text.beginnings import common_beginning

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
SHORTEST_LEMMA, LONGEST_ENDING, LONGEST_REST = 3, 4, 3
SHORTEST_FORM, SHORTEST_ENGLISH = 4, 5
"""Letters of a word that may be led back by its beginning; English has rules for shorter ones."""
COMMON_SHARE = 0.6


def english_lemmas(word: str) -> Iterator[str]:
    """What an English word may be a form of; some are no words.

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
    """The words of a lexicon in one language, and which of them a form may belong to."""

    def __init__(self, words: Iterable[str], language: str) -> None:
        self.english = language == "en"
        self._by_start: dict[str, list[str]] = {}
        for word in words:
            if " " not in word:
                self._by_start.setdefault(word[:SHORTEST_LEMMA], []).append(word)

    def of(self, word: str, known: Container[str]) -> list[str]:
        """The word itself and its likely lemmas that are `known`; else the closest in spelling."""
        found = [word] if word in known else []
        if self.english:
            stems = (stem for stem in english_lemmas(word) if len(stem) >= SHORTEST_LEMMA)
            found += [stem for stem in stems if stem in known]
        return list(dict.fromkeys(found)) or self._closest(word)

    def _closest(self, word: str) -> list[str]:
        """The lemma with the longest common beginning, if only endings differ.

        Short words that a lexicon lacks are mostly articles and prepositions: "the" is no "then".
        """
        if len(word) < (SHORTEST_ENGLISH if self.english else SHORTEST_FORM):
            return []
        least = max(SHORTEST_LEMMA, COMMON_SHARE * len(word))
        best: tuple[float, str] | None = None
        for lemma in self._by_start.get(word[:SHORTEST_LEMMA], ()):
            common = common_beginning(word, lemma)
            rest, ending = len(lemma) - common, len(word) - common
            if common < least or rest > LONGEST_REST or ending > LONGEST_ENDING:
                continue
            if best is None or (common - rest / 2, lemma) > best:
                best = common - rest / 2, lemma
        return [] if best is None else [best[1]]
