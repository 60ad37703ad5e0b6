"""Words that may have been meant: known ones that are a slip of the finger away.

A word that a vocabulary of pieces can only read in parts costs probability: the sum over its
parts. A known word nearby that is much more probable than that is what was meant, perhaps: the
noisy channel (Kernighan, Church and Gale 1990), with all slips alike but for another letter.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

import regex

SHORTEST = 4
"""Letters of a word that is looked at; shorter ones have too many neighbours."""
MARGIN = 6.0
"""How much more the logarithm of a known word's probability must be."""
OTHER_LETTER = 2.0
"""How much less probable another letter is than one too many, one too few, or two swapped."""
MOST = 3
"""Known words that are offered for one."""
LETTERS = 60
"""Of a script, the most frequent, that a slip may have been meant to be."""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


class Speller:
    """Known words near others: `Speller(words, cost)("elephnat")` is `["elephant"]`.

    Args:
        words: known ones, as they are written, with the logarithm of their probability.
        cost: the same of any other word, read in parts; minus infinity where it cannot be read.
    """

    def __init__(self, words: Mapping[str, float], cost: Callable[[str], float]) -> None:
        self.cost = cost
        self._words: dict[str, tuple[float, str]] = {}
        letters: dict[str, Counter[str]] = defaultdict(Counter)
        for word, value in words.items():
            low = word.lower()
            if value > self._words.get(low, (-float("inf"), ""))[0]:
                self._words[low] = value, word
            for letter in low:
                letters[_script(letter)][letter] += 1
        self._letters = {
            script: [letter for letter, _ in found.most_common(LETTERS)]
            for script, found in letters.items()
        }

    def __call__(self, word: str) -> list[str]:
        """Known words that may have been meant, the most probable first; none for a known one."""
        low = word.lower()
        if len(low) < SHORTEST or not low.isalpha() or _UNSPACED.search(low):
            return []
        if low in self._words:
            return []
        least = MARGIN + max(self.cost(form) for form in {word, low, low.capitalize()})
        found: dict[str, float] = {}
        for near, penalty in self._near(low):
            value, written = self._words.get(near, (-float("inf"), ""))
            # A word and its stem, or another ending, are no slips.
            related = low.startswith(near) or near.startswith(low)
            if value - penalty > least and not related:
                found[written] = max(value - penalty, found.get(written, value - penalty))
        return sorted(found, key=lambda one: (-found[one], one))[:MOST]

    def _near(self, word: str) -> Iterator[tuple[str, float]]:
        """Everything that is one slip away, with how improbable the slip is."""
        letters = self._letters.get(_script(word[0]), [])
        for place in range(len(word) + 1):
            head, tail = word[:place], word[place:]
            if tail:
                yield head + tail[1:], 0.0
                yield from ((head + other + tail[1:], OTHER_LETTER) for other in letters)
            if len(tail) > 1:
                yield head + tail[1] + tail[0] + tail[2:], 0.0
            yield from ((head + other + tail, 0.0) for other in letters)


def _script(letter: str) -> str:
    """The first word of a letter's name, which is its script's.

    >>> _script("д"), _script("e")
    ('CYRILLIC', 'LATIN')
    """
    return unicodedata.name(letter, "NONE").split()[0]
