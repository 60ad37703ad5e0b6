"""The closest word against brute force, and at and just below every threshold."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text import inflection
from polyglance.text.inflection import InflectionIndex, InflectionRule, common_prefix
from polyglance.text.tokenizers.normalise import normalise

WORDS = st.text("abc", max_size=7)
LISTS = st.lists(WORDS, max_size=12, unique=True)
RULE = InflectionRule(5, shared_of_entry=0, longest_ending=4, longest_rest=3, rest_weight=0.5)


def common(one, other):
    return max(n for n in range(len(one) + 1) if other.startswith(one[:n]))


@given(WORDS, WORDS)
def test_common_prefix(one, other):
    assert common_prefix(one, other) == common_prefix(other, one) == common(one, other)


@given(WORDS, LISTS)
def test_the_closest_word_is_that_of_all(word, words):
    fit = [
        other
        for other in words
        if len(word) >= 4 and common(word, other) >= max(3, 0.6 * max(len(word), len(other)))
    ]
    best = max(((common(word, other), -len(other)) for other in fit), default=None)
    equal = sorted(other for other in fit if (common(word, other), -len(other)) == best)
    # Of equal ones that before the word in the alphabet, or else behind it, and the nearest.
    before = [other for other in equal if other < word]
    wanted = before[-1] if before else equal[0] if equal else None
    assert InflectionIndex(words).closest(word) == wanted


@given(WORDS, LISTS)
def test_a_rule_with_limits_and_a_weight(word, words):
    scores = {}
    for other in words:
        shared = common(word, other)
        rest, ending = len(other) - shared, len(word) - shared
        if len(word) >= 5 and shared >= max(3, 0.6 * len(word)) and rest <= 3 and ending <= 4:
            scores[other] = shared - rest / 2
    wanted = max(scores, key=lambda other: (scores[other], other), default=None)
    assert InflectionIndex(words, RULE).closest(word) == wanted


def test_words_are_normalised_first():
    index = InflectionIndex(["hund", "is", "größe"])
    assert index.closest("HUNDEN") == "hund"
    assert index.find("Größen") == "größe"
    assert index.find("IS") == "is"
    assert index.closest("IS") is None  # too short to be a form of another word
    assert index.find("ISS") is None


@given(st.lists(st.text(max_size=5), max_size=6), st.text(max_size=5))
def test_find_is_exact_where_it_can_be(words, word):
    found = InflectionIndex(words).find(word)
    if word in words:
        assert found == word
    elif normalise(word) in words:
        assert found == normalise(word)
    else:
        assert found == InflectionIndex(words).closest(word)


@pytest.mark.parametrize("rule", [InflectionRule(), RULE])
def test_an_index_can_be_pickled(rule):
    index = pickle.loads(pickle.dumps(InflectionIndex(["hund", "katze"], rule)))
    assert (index.rule, index.closest("hunde")) == (rule, "hund")


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(inflection, "CACHED", 3)
    index = InflectionIndex(["hund"])
    assert [index.closest(f"hund{n % 10}") for n in range(40)] == ["hund"] * 40
    assert index._cached.cache_info().currsize == 3


def closest(word: str, words: list[str]) -> str | None:
    return InflectionIndex(words).closest(word)


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        # 0.6 of the longer word, which is the form…
        ("abcde", "abc", True),  # 3 of 5
        ("abcdef", "abc", False),  # 3 of 6
        ("abcdef", "abcd", True),  # 4 of 6
        ("abcdefg", "abcd", False),  # 4 of 7
        ("abcdefgh", "abcde", True),  # 5 of 8
        ("abcdefghi", "abcde", False),  # 5 of 9
        ("abcdefghij", "abcdef", True),  # 6 of 10
        # … or the known word …
        ("abcx", "abcde", True),  # 3 of 5
        ("abcx", "abcdef", False),  # 3 of 6
        ("abcdef", "abcdefghij", True),  # 6 of 10
        ("abcdef", "abcdefghijk", False),  # 6 of 11
        # … or both.
        ("abcxy", "abcde", True),
        ("abcxyz", "abcdef", False),
    ],
)
def test_six_tenths_of_the_longer_word(word: str, known: str, found: bool) -> None:
    assert closest(word, [known]) == (known if found else None)


@pytest.mark.parametrize("length", range(4, 60))
def test_six_tenths_of_every_length(length: int) -> None:
    least = -(-3 * length // 5)
    long, fits, short = "a" * length, "a" * least, "a" * (least - 1)
    assert closest(long, [fits]) == fits
    assert closest(long, [short]) is None
    if least >= 4:
        assert closest(fits, [long]) == long
    if least > 4:
        assert closest(short, [long]) is None


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("abcd", "abc", True),  # 3 characters: 0.6 of 4 is more than 2
        ("abcd", "abcx", True),
        ("abxy", "ab", False),  # 2
        ("abxy", "abcd", False),
        ("abcd", "abcd", True),
    ],
)
def test_three_characters_in_common(word: str, known: str, found: bool) -> None:
    assert closest(word, [known]) == (known if found else None)


@pytest.mark.parametrize(
    ("word", "found"), [("abcd", "abc"), ("abc", None), ("abce", "abc"), ("ab", None), ("", None)]
)
def test_a_form_has_four_characters(word: str, found: str | None) -> None:
    assert closest(word, ["abc"]) == found


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("hundene", ["hund", "hunde", "hunden"], "hunden"),
        ("hunds", ["hund", "hunde"], "hund"),
        ("abcdx", ["abcd", "abcda", "abcdb", "abcdy", "abcdz"], "abcd"),
        ("abcdx", ["abcda", "abcdz"], "abcda"),
        ("abcdx", ["abcda", "abcdaa", "abcdy"], "abcda"),
        ("abcdx", ["abcdaa", "abcdy"], "abcdy"),
        # A word that begins more alike but is too long is no match, and hides none.
        ("abcdx", ["abc", "abcdxefghijk"], "abc"),
        ("abcdx", ["abcaaaaaaaaa", "abcb"], "abcb"),
        ("abcdx", [], None),
        ("zzzz", ["aaaa", "bbbb"], None),
        ("aaaa", ["bbbb", "cccc"], None),
    ],
)
def test_the_longest_beginning_then_the_shortest_word(
    word: str, known: list[str], found: str | None
) -> None:
    assert closest(word, known) == found
