"""Forms of words: a word, and where in its caption it stands."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from polyglance.text.embedders.characters import alphabet as letters
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.spelling import character_ids
from polyglance.text.embedders.vocabulary import END, SPECIALS, START, UNKNOWN

FIRST, LAST = 1, 2
"""Places: inside a caption is 0, the only word of one is FIRST | LAST."""


class Form(NamedTuple):
    """A word in a place of a caption.

    With ends, `<start>` is the first character of a caption's first word and `<end>` the last of
    its last (Wehrmann et al. 2019's code), so "dog" and "dog" at the end are two forms.
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


class FormTable:
    """Forms that have an id: `<pad>`, `<start>`, `<end>`, `<unk>`, then those given, in order.

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
