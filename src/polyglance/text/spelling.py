"""Spelling suggestions: known words that are one typo away, or two for long words.

The log-probability of an unknown word is the sum over its subwords. A known word at edit distance
one that is much more probable is suggested: the noisy-channel model (Kernighan, Church and Gale
1990), with equally probable typos except for substitutions. Letters in another order are one typo
(Damerau 1964), the only one in words of three letters.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from polyglance.text.tokenizers.segment import is_unspaced

SHORTEST = 4
"""Shortest word to correct, in letters; shorter ones have too many neighbours."""
SWAPPED = 3
"""Shortest word in which letters in another order are corrected."""
LONG = 7
"""Shortest word in which two typos are corrected."""
SECOND = 4.0
"""Log-probability penalty of a second typo."""
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
        self._written = frozenset(words)
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
        if len(low) < SWAPPED or not low.isalpha() or is_unspaced(low):
            return []
        if low in self._words:
            return []
        least = MARGIN + max(self.cost(form) for form in {word, low, low.capitalize()})
        near = self._near(low) if len(low) >= SHORTEST else ((one, 0.0) for one in _swaps(low))
        found = self._probable(low, near, least)
        if not found and len(low) >= LONG:
            found = self._probable(low, self._farther(low), least)
        ranked = sorted(found, key=lambda one: (-found[one], one))[:MOST]
        return [self._as_typed(one, word) for one in ranked]

    def _as_typed(self, found: str, word: str) -> str:
        """Of "beach" and "Beach", the one written like the word: the capital has no meaning."""
        return found.lower() if word.islower() and found.lower() in self._written else found

    def _probable(
        self, low: str, near: Iterable[tuple[str, float]], least: float
    ) -> dict[str, float]:
        """Known words among strings with a penalty, if more probable than `least`."""
        found: dict[str, float] = {}
        for other, penalty in near:
            value, written = self._words.get(other, (-float("inf"), ""))
            # A word and its stem, or with another ending, is not a typo.
            related = low.startswith(other) or other.startswith(low)
            if value - penalty > least and not related:
                found[written] = max(value - penalty, found.get(written, value - penalty))
        return found

    def _farther(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield known words that are two typos away, with the penalty."""
        own = _letters(word)
        for size in range(len(word) - 2, len(word) + 3):
            for other, letters in self._by_length.get(size, ()):
                # Two typos bring at most two new letters, and rarely change both ends.
                if (own & ~letters).bit_count() > 2 or (letters & ~own).bit_count() > 2:
                    continue
                ends = other[0] == word[0] or other[-1] == word[-1]
                if ends and typos(word, other) <= 2:
                    yield other, SECOND + OTHER_LETTER

    @cached_property
    def _by_length(self) -> dict[int, list[tuple[str, int]]]:
        """Known words with their letters, by length."""
        found: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for word in self._words:
            found[len(word)].append((word, _letters(word)))
        return dict(found)

    def _near(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield all strings that are one typo away, with the typo's penalty."""
        letters = self._letters.get(_script(word[0]), [])
        for place in range(len(word) + 1):
            head, tail = word[:place], word[place:]
            if tail:
                yield head + tail[1:], 0.0
                yield from ((head + other + tail[1:], OTHER_LETTER) for other in letters)
            yield from ((head + other + tail, 0.0) for other in letters)
        yield from ((other, 0.0) for other in _swaps(word))


def _swaps(word: str) -> Iterator[str]:
    """Yield a word with two neighbouring letters in the other order.

    >>> list(_swaps("dgo"))
    ['gdo', 'dog']
    """
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _letters(word: str) -> int:
    """The letters of a word as bits; different ones may share a bit."""
    found = 0
    for letter in word:
        found |= 1 << (ord(letter) & 63)
    return found


def typos(one: str, other: str) -> int:
    """Number of typos between two words; letters in another order are one, and case is ignored.

    >>> typos("bycicle", "bicycle"), typos("elephnat", "Elephant")
    (2, 1)
    """
    one, other = one.lower(), other.lower()
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _script(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name.

    >>> _script("д"), _script("e")
    ('CYRILLIC', 'LATIN')
    """
    return unicodedata.name(letter, "NONE").split()[0]
