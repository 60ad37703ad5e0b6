"""Words as rows of their characters."""

import unicodedata

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.embedders.characters.alphabet import (
    END,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
    Alphabet,
)
from polyglance.text.embedders.characters.forms import character_ids

ANY_WORD = st.text(max_size=40)


def brute_force(word: str, alphabet: Alphabet, length: int, start: bool, end: bool) -> list[int]:
    known = {symbol: i for i, symbol in enumerate(alphabet.symbols, len(SPECIALS))}
    ids = [known.get(c, UNKNOWN) for c in unicodedata.normalize("NFC", word)]
    ids = ([START] if start else []) + ids + ([END] if end else [])
    return (ids + [PAD] * length)[:length]


@given(
    st.lists(st.tuples(ANY_WORD, st.booleans(), st.booleans()), max_size=9),
    st.text("abcdeé狗ж😀", max_size=9),
    st.integers(1, 30),
)
def test_characters_against_brute_force(
    words: list[tuple[str, bool, bool]], known: str, length: int
) -> None:
    alphabet = Alphabet(dict.fromkeys(known))
    starts, ends = (np.array([row[i] for row in words], bool) for i in (1, 2))
    found = character_ids([row[0] for row in words], alphabet, length, starts, ends)
    assert found.shape == (len(words), length)
    assert found.tolist() == [brute_force(w, alphabet, length, s, e) for w, s, e in words]


def test_emoji_surrogates_and_endless_words() -> None:
    alphabet = Alphabet("a😀")
    words = ["😀", "👨‍👩‍👧", "\ud83d", "a" * 200, "", "a\x00"]
    rows = character_ids(words, alphabet, 26)
    assert rows[0, :2].tolist() == [5, PAD]
    assert rows[1, :6].tolist() == [UNKNOWN] * 5 + [PAD]
    assert rows[2, 0] == UNKNOWN
    assert rows[3].tolist() == [4] * 26
    assert rows[4].tolist() == [PAD] * 26
    assert rows[5, :3].tolist() == [4, UNKNOWN, PAD]
