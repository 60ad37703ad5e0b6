"""English names of scripts, for labels."""

import unicodedata


def script_name(text: str) -> str:
    """The script of the first non-Latin letter, as named by Unicode.

    >>> script_name("dog 狗"), script_name("कुत्ता")
    ('CJK', 'Devanagari')
    """
    letters = (c for c in text if unicodedata.category(c)[0] == "L")
    names = (unicodedata.name(c, "UNKNOWN").split()[0] for c in letters)
    name = next((name for name in names if name != "LATIN"), "LATIN")
    return name if name == "CJK" else name.capitalize()
