"""Spelling suggestions: known words that are one typo away.

The log-probability of an unknown word is the sum over its subwords. A known word at edit distance
one that is much more probable is suggested: the noisy-channel model (Kernighan, Church and Gale
1990), with equally probable typos except for substitutions.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from polyglance.text.tokenizers.segment import is_unspaced

SHORTEST = 4
"""Shortest word to correct, in letters; shorter ones have too many neighbours."""
MARGIN = 6.0
"""By how much a suggestion's log-probability must exceed the word's."""
OTHER_LETTER = 2.0
"""Log-probability penalty of a substitution, compared with other typos."""
MOST = 3
"""Most suggestions for a word."""
LETTERS = 60
"""Number of letters tried per script, the most frequent ones."""


class Speller:
    """Suggests known words: `Speller(words, cost)("elephnat")` is `["elephant"]`.

    Args:
        words: known words with their log-probabilities.
        cost: log-probability of any other word, from its subwords; minus infinity if it has none.
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
        """Suggestions for a word, the most probable first; none if it is known."""
        low = word.lower()
        if len(low) < SHORTEST or not low.isalpha() or is_unspaced(low):
            return []
        if low in self._words:
            return []
        least = MARGIN + max(self.cost(form) for form in {word, low, low.capitalize()})
        found: dict[str, float] = {}
        for near, penalty in self._near(low):
            value, written = self._words.get(near, (-float("inf"), ""))
            # A word and its stem, or with another ending, is not a typo.
            related = low.startswith(near) or near.startswith(low)
            if value - penalty > least and not related:
                found[written] = max(value - penalty, found.get(written, value - penalty))
        return sorted(found, key=lambda one: (-found[one], one))[:MOST]

    def _near(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield all strings that are one typo away, with the typo's penalty."""
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
    """The script of a letter: the first word of its Unicode name.

    >>> _script("д"), _script("e")
    ('CYRILLIC', 'LATIN')
    """
    return unicodedata.name(letter, "NONE").split()[0]
