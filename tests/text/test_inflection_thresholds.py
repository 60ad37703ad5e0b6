"""Inflections at and just below every threshold: 0.6 of both words, forms of 4 characters."""

import pytest

from polyglance.text.inflection import InflectionIndex


def closest(word: str, known: list[str]) -> str | None:
    return InflectionIndex(known).closest(word)


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
