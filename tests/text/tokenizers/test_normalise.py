"""One spelling of what can be typed in several ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.tokenizers.normalise import is_plain, lower, normalise


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("ＤＯＧ ﬁsh", None, "dog fish"),
        ("cafe\u0301", None, "café"),
        ("IŞIK", "tr", "ışık"),
        ("IŞIK", "en", "işik"),
        ("ёж", "ru", "еж"),
        ("’n", "af", "'n"),
        ("٣", "ar", "3"),
    ],
)
def test_by_hand(text, language, expected):
    assert normalise(text, language) == expected


@given(st.text(max_size=30))
def test_once_is_enough(text):
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(st.characters(max_codepoint=0x17F), max_size=30))
def test_plain_text_is_lower_cased_only(text):
    if is_plain(text):
        assert normalise(text) == lower(text, None)
