"""Words of captions, changed in their place."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from polyglance.evaluation.perturb.words import change_words, spans, words_of

TEXTS = st.text("abc dé'2,狗犬がЖкषिال😀\n", max_size=40)


def upper(word: str, rng: Random) -> str | None:
    return f"<{word}>"


@given(TEXTS)
def test_spans_are_words_in_order_and_nothing_else(text: str) -> None:
    found = spans(text)
    assert all(a < b for a, b in found)
    assert all(one[1] <= two[0] for one, two in pairwise(found))
    rest = change_words(text, found, 1.0, lambda word, _: "", "key")[0]
    assert not any(c.isalpha() for c in rest)


@given(TEXTS, st.floats(0.05, 1), st.integers(0, 99))
def test_words_change_in_their_place_and_the_same_way_twice(
    text: str, rate: float, key: int
) -> None:
    places = spans(text)
    new, changed = change_words(text, places, rate, upper, str(key))
    assert (new, changed) == change_words(text, places, rate, upper, str(key))
    assert new.replace("<", "").replace(">", "") == text
    assert new.count("<") == changed <= len(places)


@given(st.floats(0.05, 1), st.floats(0.05, 1))
def test_a_higher_rate_changes_the_same_words_and_more(one: float, other: float) -> None:
    text = "a b c d e f g h i j k l"
    places = spans(text)
    low, high = (
        change_words(text, places, rate, upper, "key")[0].split() for rate in sorted((one, other))
    )
    assert all(b == a or not a.startswith("<") for a, b in zip(low, high, strict=True))


def test_words_are_spelt_as_tokenisers_spell_them() -> None:
    assert words_of("Der HUND, أحمر!", "ar") == ["der", "hund", "احمر"]
