"""A growing list of spelt words: ids as a vocabulary gives them, and no word unknown."""

from collections.abc import Sequence
from threading import RLock

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.text import alphabet as letters
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.spelling import character_ids
from polyglance.text.embedders.vocabulary import END, SPECIALS, START, UNKNOWN, Ragged

_FIRST, _LAST = 1, 2
_GROWING = RLock()
"""Of all lexicons: a new word is met rarely, and spelt at once."""


class _Forms(dict[str, int]):
    """Ids of words in one place of a caption; a word not seen before gets the next id."""

    def __init__(self, lexicon: "Lexicon", place: int) -> None:
        super().__init__()
        self.lexicon, self.place = lexicon, place

    def __missing__(self, word: str) -> int:
        with _GROWING:
            if word not in self:  # another thread may have been faster
                self[word] = self.lexicon._add(word, self.place)
            return self.get(word, UNKNOWN)


class Lexicon:
    """Every form of a word met so far, and its characters; each is encoded once.

    Ids 0–3 are those of a vocabulary (`<pad>`, `<start>`, `<end>`, `<unk>`), spelt with one
    character or none. With ends, `<start>` is the first character of a caption's first word and
    `<end>` the last of its last (spec §4.1), so "dog" and "dog" at the end are two forms.
    Several threads may add words at a time, but none while one forgets.

    >>> lexicon = Lexicon(Alphabet("adgo"), word_length=5)
    >>> lexicon.encode(["a", "dog"])
    [4, 5]
    >>> lexicon.characters(np.array([4, 5])).tolist()
    [[2, 4, 0, 0, 0], [5, 7, 6, 3, 0]]
    """

    def __init__(self, alphabet: Alphabet, word_length: int = 26) -> None:
        if word_length < 1:
            raise PolyglanceError(f"word_length {word_length} must be at least 1")
        self.alphabet, self.word_length = alphabet, word_length
        self.version = 0
        """Changes when ids get a new meaning."""
        self._matrix = np.zeros((len(SPECIALS), word_length), np.int32)
        self._matrix[[START, END, UNKNOWN], 0] = letters.START, letters.END, letters.UNKNOWN
        self._words: list[tuple[str, int]] = [(special, 0) for special in SPECIALS]
        self._ids = [_Forms(self, place) for place in range(4)]

    def __len__(self) -> int:
        return len(self._words)

    def encode(
        self, tokens: Sequence[str], max_length: int | None = None, ends: bool = True
    ) -> list[int]:
        """Ids of the first `max_length` tokens; the ends are characters and take no room."""
        tokens = tokens[:max_length]
        inner = self._ids[0]
        if not ends or not tokens:
            return [inner[token] for token in tokens]
        if len(tokens) == 1:
            return [self._ids[_FIRST | _LAST][tokens[0]]]
        first, last = self._ids[_FIRST][tokens[0]], self._ids[_LAST][tokens[-1]]
        return [first, *[inner[token] for token in tokens[1:-1]], last]

    def encode_many(
        self, tokens: Sequence[Sequence[str]], max_length: int | None = None, ends: bool = True
    ) -> Ragged:
        """`encode` of every token list, laid end to end."""
        return Ragged.join([self.encode(one, max_length, ends) for one in tokens])

    def characters(self, ids: np.ndarray) -> np.ndarray:
        """Characters of words [U] → [U, word_length] int32."""
        if len(self._matrix) < len(self._words):
            with _GROWING:
                self._spell()
        return self._matrix[ids]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The words of ids, without ends."""
        return [self._words[i][0] for i in ids]

    def forget(self, keep: int) -> None:
        """Drop all but the `keep` oldest forms; later ids are then given anew.

        A program that runs for long calls it between texts, or every misspelling stays in memory.
        """
        keep = max(keep, len(SPECIALS))
        if keep >= len(self):
            return
        with _GROWING:
            for word, place in self._words[keep:]:
                del self._ids[place][word]
            del self._words[keep:]
            self._matrix = self._matrix[:keep].copy()
            self.version += 1

    def _add(self, word: str, place: int) -> int:
        self._words.append((word, place))
        return len(self._words) - 1

    def _spell(self) -> None:
        """Encode the forms added since the last time, all at once."""
        added = self._words[len(self._matrix) :]
        if not added:
            return
        words, places = zip(*added, strict=True)
        place = np.array(places)
        first, last = (place & _FIRST) > 0, (place & _LAST) > 0
        new = character_ids(words, self.alphabet, self.word_length, first, last)
        self._matrix = np.concatenate([self._matrix, new])
