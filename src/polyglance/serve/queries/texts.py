"""Texts of requests: bounded, and cut into what is wanted and what is not."""

import re
import unicodedata

from polyglance.serve.problems import Problem

LONGEST = 500
"""Characters of a query."""
_WITHOUT = re.compile(r'(?:^|(?<=\s))-(?:"([^"]+)"|([^\s"-]\S*))')


def checked(text: str, longest: int = LONGEST) -> str:
    """The text in normal form C, one space for each gap; what no text should hold is a problem."""
    if len(text) > longest:
        raise Problem(422, f"the text has {len(text)} characters, and {longest} are the most")
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()
    if any(unicodedata.category(one) in ("Cc", "Cs") for one in text):
        raise Problem(422, "the text holds control characters or halves of characters")
    return text


def split_query(text: str) -> tuple[str, list[str]]:
    """What a query asks for, and what it does not want.

    >>> split_query('a beach -people -"red boat"')
    ('a beach', ['people', 'red boat'])
    >>> split_query("black-and-white - so to say")
    ('black-and-white - so to say', [])
    """
    unwanted = [quoted or word for quoted, word in _WITHOUT.findall(text)]
    return " ".join(_WITHOUT.sub("", text).split()), unwanted
