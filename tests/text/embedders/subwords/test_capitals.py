"""Capitals that say nothing are read as small letters."""

import pytest

from polyglance.text.embedders.subwords.capitals import lower_capitals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ZWEI HUNDE, 2 KATZEN!", "zwei hunde, 2 katzen!"),
        ("Dois Cães Na Neve", "dois cães na neve"),
        ("ДВА СОБАКИ", "два собаки"),
        ("STRAND", "strand"),
    ],
)
def test_shouted_and_titled_texts(text: str, expected: str) -> None:
    assert lower_capitals(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123",
        "雪地里的两只狗",
        "NASA",
        "New York",
        "Zwei Hunde rennen",
        "a BMW",
        "كلب",
        "iPhone",
    ],
)
def test_texts_whose_capitals_say_something_stay(text: str) -> None:
    assert lower_capitals(text) == text
