"""Texts of requests, limited in length."""

import re
import unicodedata

from polyglance.serve.problems import Problem

LONGEST = 500
"""Largest number of characters of a query."""


def checked(text: str, longest: int = LONGEST) -> str:
    """The text in NFC with single spaces; raises a problem for invalid characters."""
    if len(text) > longest:
        raise Problem(422, f"the text has {len(text)} characters; the limit is {longest}")
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()
    if any(unicodedata.category(one) in ("Cc", "Cs") for one in text):
        raise Problem(422, "the text contains control characters or lone surrogates")
    return text
