"""Alphabets of any script."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.characters.alphabet import UNKNOWN, Alphabet
from polyglance.text.embedders.characters.forms import character_ids

CAPTIONS = {
    "en": [["a", "dog"], ["a", "good", "dog"]],
    "zh": [["一只", "狗"]],
    "hi": [["कुत्ता"]],
    "ar": [["كلب"]],
}
ANY_WORD = st.text(max_size=40)


def test_the_authors_alphabet() -> None:
    alphabet = Alphabet.lavse()
    assert len(alphabet) == 101
    assert character_ids(["käse 7?"], alphabet, 7)[0].min() > UNKNOWN
    assert character_ids([" "], alphabet, 1).item() == 4
    assert character_ids(["犬ж*é"], alphabet, 4)[0, :3].tolist() == [UNKNOWN] * 3


def test_built_by_falling_count_in_any_script() -> None:
    alphabet = Alphabet.build(CAPTIONS, min_count=1)
    assert alphabet.symbols[:4] == ("o", "d", "g", "a")
    counts = Counter(c for rows in CAPTIONS.values() for row in rows for w in row for c in w)
    assert set(alphabet.symbols) == set(counts)
    numbers = [counts[symbol] for symbol in alphabet.symbols]
    assert numbers == sorted(numbers, reverse=True)
    assert alphabet.reads("狗狗")
    assert not alphabet.reads("猫")
    assert not alphabet.reads("")


def test_the_least_count_leaves_rare_characters_out() -> None:
    alphabet = Alphabet.build(CAPTIONS, min_count=3)
    assert set(alphabet.symbols) == {"o", "d", "g"}
    with pytest.raises(PolyglanceError, match="no character occurs 50 times"):
        Alphabet.build(CAPTIONS, min_count=50)


def test_one_character_however_it_was_typed() -> None:
    composed, apart = "café", "cafe\u0301"
    alphabet = Alphabet.build({"fr": [[apart]]}, min_count=1)
    assert alphabet == Alphabet.build({"fr": [[composed]]}, min_count=1)
    np.testing.assert_array_equal(*[character_ids([w], alphabet, 9) for w in (composed, apart)])


@given(st.lists(ANY_WORD.filter(bool), min_size=1, max_size=8))
def test_an_alphabet_survives_its_file(words: list[str]) -> None:
    alphabet = Alphabet.build({"": [[*words, "x"]]}, min_count=1)
    written = json.dumps(alphabet.to_json(), ensure_ascii=False).encode()
    assert Alphabet.from_json(json.loads(written)) == alphabet


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "field 'symbols' must be a list"),
        ({"symbols": "ab"}, "field 'symbols' must be a list"),
        ({"symbols": [1]}, "field 'symbols' must be a list"),
        ({"symbols": ["a", "a"]}, "'a' twice"),
        ({"symbols": ["ab"]}, "'ab' is not one character"),
        ({"symbols": ["\u212b"]}, "is not one character of NFC text"),
        ({"symbols": ["\ud83d"]}, "is not one character of NFC text"),
        ({"symbols": ["a"], "specials": ["<pad>"]}, "field 'specials'"),
    ],
)
def test_a_bad_file_is_refused(value: object, message: str) -> None:
    with pytest.raises(PolyglanceError, match=f"m.json: .*{re.escape(message)}"):
        Alphabet.from_json(value, "m.json")
