"""Alphabets of any script, and words as rows of their characters."""

import json
import re
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.characters.alphabet import (
    END,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
    Alphabet,
)
from polyglance.text.embedders.characters.spelling import character_ids
from polyglance.text.lexicon import Lexicon
from polyglance.text.embedders.vocabulary import Vocabulary

CAPTIONS = {
    "en": [["a", "dog"], ["a", "good", "dog"]],
    "zh": [["一只", "狗"]],
    "hi": [["कुत्ता"]],
    "ar": [["كلب"]],
}
ANY_WORD = st.text(max_size=40)


def brute_force(word: str, alphabet: Alphabet, length: int, start: bool, end: bool) -> list[int]:
    known = {symbol: i for i, symbol in enumerate(alphabet.symbols, len(SPECIALS))}
    ids = [known.get(c, UNKNOWN) for c in unicodedata.normalize("NFC", word)]
    ids = ([START] if start else []) + ids + ([END] if end else [])
    return (ids + [PAD] * length)[:length]


def test_the_authors_alphabet() -> None:
    alphabet = Alphabet.lavse()
    assert len(alphabet) == 101
    assert character_ids(["käse 7?"], alphabet, 7)[0].min() > UNKNOWN
    assert character_ids([" "], alphabet, 1).item() == 4
    assert character_ids(["犬ж*é"], alphabet, 4)[0, :3].tolist() == [UNKNOWN] * 3


def test_built_by_falling_count_in_any_script() -> None:
    alphabet = Alphabet.build(CAPTIONS, threshold=1)
    assert alphabet.symbols[:4] == ("o", "d", "g", "a")
    counts = Counter(c for rows in CAPTIONS.values() for row in rows for w in row for c in w)
    assert set(alphabet.symbols) == set(counts)
    numbers = [counts[symbol] for symbol in alphabet.symbols]
    assert numbers == sorted(numbers, reverse=True)
    assert alphabet.reads("狗狗")
    assert not alphabet.reads("猫")
    assert not alphabet.reads("")


def test_the_threshold_leaves_rare_characters_out() -> None:
    alphabet = Alphabet.build(CAPTIONS, threshold=3)
    assert set(alphabet.symbols) == {"o", "d", "g"}
    with pytest.raises(PolyglanceError, match="no character occurs 50 times"):
        Alphabet.build(CAPTIONS, threshold=50)


def test_one_character_however_it_was_typed() -> None:
    composed, apart = "café", "cafe\u0301"
    alphabet = Alphabet.build({"fr": [[apart]]}, threshold=1)
    assert alphabet == Alphabet.build({"fr": [[composed]]}, threshold=1)
    np.testing.assert_array_equal(*[character_ids([w], alphabet, 9) for w in (composed, apart)])


@given(st.lists(ANY_WORD.filter(bool), min_size=1, max_size=8))
def test_an_alphabet_survives_its_file(words: list[str]) -> None:
    alphabet = Alphabet.build({"": [[*words, "x"]]}, threshold=1)
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
def test_a_bad_file_is_told(value: object, message: str) -> None:
    with pytest.raises(PolyglanceError, match=f"m.json: .*{re.escape(message)}"):
        Alphabet.from_json(value, "m.json")


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


def test_a_caption_in_the_lexicon() -> None:
    lexicon = Lexicon(Alphabet("adgo"), word_length=6)
    ids = lexicon.encode(["a", "dog", "a"])
    assert lexicon.decode(ids) == ["a", "dog", "a"]
    assert len(set(ids)) == 3
    assert lexicon.characters(np.array(ids))[:, :4].tolist() == [
        [START, 4, PAD, PAD],
        [5, 7, 6, PAD],
        [4, END, PAD, PAD],
    ]
    alone = lexicon.characters(np.array(lexicon.encode(["a"])))
    assert alone[0, :4].tolist() == [START, 4, END, PAD]
    assert lexicon.encode(["a", "dog", "a"]) == ids
    assert lexicon.encode(["dog"], ends=False) == [ids[1]]
    assert lexicon.encode([]) == []


def test_ids_of_specials_are_those_of_a_vocabulary() -> None:
    lexicon, vocabulary = Lexicon(Alphabet("a"), 3), Vocabulary([])
    assert lexicon.decode(range(4)) == list(vocabulary.words)
    rows = lexicon.characters(np.arange(4))
    assert rows[:, 0].tolist() == [PAD, START, END, UNKNOWN]
    assert not rows[:, 1:].any()


@given(st.lists(st.lists(ANY_WORD, max_size=6), max_size=6), st.integers(1, 5), st.booleans())
def test_encode_many_is_encode_of_each(
    captions: list[list[str]], max_length: int, ends: bool
) -> None:
    lexicon = Lexicon(Alphabet("abc"), 5)
    found = lexicon.encode_many(captions, max_length, ends)
    ids, offsets = found.flat, found.offsets
    for row, caption in enumerate(captions):
        mine = ids[offsets[row] : offsets[row + 1]]
        assert lexicon.decode(mine.tolist()) == caption[:max_length]
        assert lexicon.encode(caption, max_length, ends) == mine.tolist()


def test_forgetting_keeps_the_oldest() -> None:
    lexicon = Lexicon(Alphabet("abc"), 4)
    old = lexicon.encode(["a", "b"])
    kept, before = len(lexicon), lexicon.characters(np.array(old))
    lexicon.encode(["c", "c", "c"])
    lexicon.forget(kept)
    assert len(lexicon) == kept
    assert lexicon.encode(["a", "b"]) == old
    new = lexicon.encode(["b", "cab"])
    assert new[0] == kept
    np.testing.assert_array_equal(lexicon.characters(np.array(old)), before)
    assert lexicon.characters(np.array(new))[1].tolist() == [6, 4, 5, END]
    assert lexicon.version == 1


def test_a_word_has_at_least_one_character() -> None:
    with pytest.raises(PolyglanceError, match="word_length 0"):
        Lexicon(Alphabet("a"), 0)
