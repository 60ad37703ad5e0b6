"""Hashed subwords: stable numbers, whatever the case, form and script."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.embedders.subwords.hashing import LONGEST, hash_words, subwords


def test_numbers_are_those_of_saved_models() -> None:
    assert hash_words("Dog", 1 << 17, 4, 60) == [(110104, 67007, 110155)]
    assert crc32(b"<dog>") % (1 << 17) == 110104
    assert hash_words("狗", 1000, 4, 60) == [(crc32("狗".encode()) % 1000,)]


def test_case_form_and_punctuation_do_not_matter() -> None:
    wanted = hash_words("zwei hunde im café", 5000, 4, 60)
    assert hash_words("ＺＷＥＩ Hunde – im Cafe\u0301!", 5000, 4, 60) == wanted
    assert len(wanted) == 4


def test_a_word_and_its_ngrams() -> None:
    assert subwords("a", 4) == ["<a>", "#<a>"]
    assert subwords("hunde", 3) == ["<hunde>", "#<hu", "#hun", "#und", "#nde", "#de>"]
    assert subwords("สุนัข", 4)[:5] == list("สุนัข")
    assert "한국" in subwords("한국어", 4)


def test_emoji_are_words_and_flags_are_whole() -> None:
    assert len(hash_words("🐕🇫🇷", 5000, 4, 60)) == 2
    assert hash_words("🐕", 5000, 4, 60) != hash_words("🐈", 5000, 4, 60)


def test_a_similar_word_shares_subwords() -> None:
    dogs, dog, cat = (set(hash_words(word, 1 << 20, 4, 60)[0]) for word in ("dogs", "dog", "cat"))
    assert dogs & dog
    assert not dogs & cat


def test_long_texts_and_words_are_cut() -> None:
    assert len(hash_words("a b c d", 100, 4, 3)) == 3
    assert hash_words("x" * 10_000, 100, 4, 60) == hash_words("x" * LONGEST, 100, 4, 60)


@given(st.text(), st.integers(1, 50), st.integers(2, 6))
def test_any_text_has_subwords(text: str, buckets: int, ngram: int) -> None:
    found = hash_words(text, buckets, ngram, 60)
    assert found
    assert all(word and all(0 <= number < buckets for number in word) for word in found)
