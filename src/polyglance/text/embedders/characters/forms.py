"""Forms of words (a word and its position in the caption) and their characters."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from polyglance.text.embedders.characters import alphabet as letters
from polyglance.text.embedders.characters.alphabet import Alphabet, code_points, nfc
from polyglance.text.embedders.vocabulary import END, SPECIALS, START, UNKNOWN

FIRST, LAST = 1, 2
"""Positions in a caption; 0 is inside, FIRST | LAST the only word."""


class Form(NamedTuple):
    """A word and its position in a caption.

    With ends, `<start>` is the first character of the first word and `<end>` the last character of
    the last one (Wehrmann et al. 2019's code), so "dog" inside and at the end are two forms.
    """

    word: str
    place: int = 0


def forms_of(words: Sequence[str], ends: bool) -> list[Form]:
    """The forms of a caption's words.

    >>> [form.place for form in forms_of(["a", "big", "dog"], ends=True)]
    [1, 0, 2]
    """
    if not ends:
        return [Form(word) for word in words]
    last = len(words) - 1
    return [
        Form(word, FIRST * (index == 0) | LAST * (index == last))
        for index, word in enumerate(words)
    ]


def character_ids(
    words: Sequence[str],
    alphabet: Alphabet,
    length: int,
    starts: np.ndarray | None = None,
    ends: np.ndarray | None = None,
) -> np.ndarray:
    """The words' characters, padded with 0 and cut at `length`: [U, length] int32.

    Args:
        words: U words.
        alphabet: numbers the characters.
        length: number of characters to keep.
        starts: [U] bool, words that begin with `<start>`, which counts as a character.
        ends: [U] bool, words that end with `<end>`, which counts as one, too, and is cut off from
            long words, as in the authors' code.

    >>> character_ids(["ab", "b?"], Alphabet("ab"), 3).tolist()
    [[4, 5, 0], [5, 1, 0]]
    """
    cut = [nfc(word)[:length] for word in words]
    counts = np.fromiter(map(len, cut), np.int64, len(cut))
    first = np.zeros(len(cut), np.int64) if starts is None else starts.astype(np.int64)
    rows = np.repeat(np.arange(len(cut)), counts)
    columns = np.arange(len(rows)) - (np.cumsum(counts) - counts - first)[rows]
    inside = columns < length
    matrix = np.zeros((len(cut), length), np.int32)
    matrix[rows[inside], columns[inside]] = alphabet.ids(code_points("".join(cut)))[inside]
    if starts is not None:
        matrix[starts, 0] = letters.START
    if ends is not None:
        closed = np.flatnonzero(ends & (counts + first < length))
        matrix[closed, (counts + first)[closed]] = letters.END
    return matrix


class FormTable:
    """Forms with an id: `<pad>`, `<start>`, `<end>`, `<unk>`, then `forms`, in order.

    Args:
        alphabet: the letters with an id.
        word_length: letters of a form, padded or cut.
        forms: with an id; others are spelt when they occur.

    >>> table = FormTable(Alphabet("adgo"), 5, [Form("a", FIRST), Form("dog", LAST)])
    >>> table.ids[Form("dog", LAST)]
    5
    >>> table.characters[4:].tolist()
    [[2, 4, 0, 0, 0], [5, 7, 6, 3, 0]]
    """

    def __init__(self, alphabet: Alphabet, word_length: int, forms: Iterable[Form] = ()) -> None:
        self.alphabet, self.word_length = alphabet, word_length
        self.forms = list(dict.fromkeys(forms))
        self.ids = {form: len(SPECIALS) + i for i, form in enumerate(self.forms)}
        special = np.zeros((len(SPECIALS), word_length), np.int32)
        special[[START, END, UNKNOWN], 0] = letters.START, letters.END, letters.UNKNOWN
        self.characters = np.concatenate([special, self.spell(self.forms)])

    def __len__(self) -> int:
        return len(self.characters)

    def spell(self, forms: Sequence[Form]) -> np.ndarray:
        """Characters of forms, [n, word_length] int32."""
        place = np.array([form.place for form in forms], np.int64)
        first, last = (place & FIRST) > 0, (place & LAST) > 0
        words = [form.word for form in forms]
        return character_ids(words, self.alphabet, self.word_length, first, last)
