"""Texts typed in capital letters, or with a capital in every word, as if they were not."""

import regex

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
LONGEST_ACRONYM = 4
TITLE = 3
"""Words that a text must have: two capitalised ones are often a name."""


def uncapped(text: str) -> str:
    """The text in small letters if its capitals say nothing, else as it is.

    Pieces of words are told apart by case, and hardly any sentence that they were learned from is
    written in capitals. A single short word in capitals may be an acronym and stays.

    >>> uncapped("ZWEI HUNDE IM SCHNEE"), uncapped("Two Dogs In The Snow"), uncapped("BMW")
    ('zwei hunde im schnee', 'two dogs in the snow', 'BMW')
    >>> uncapped("Zwei Hunde im Schnee"), uncapped("Angela Merkel"), uncapped("雪 A")
    ('Zwei Hunde im Schnee', 'Angela Merkel', '雪 A')
    """
    words = [word for word in _WORD.findall(text) if word.lower() != word.upper()]
    if not words:
        return text
    shouted = all(word.isupper() for word in words)
    if shouted and (len(words) > 1 or len(words[0]) > LONGEST_ACRONYM):
        return text.lower()
    titled = len(words) >= TITLE and all(word[0].isupper() for word in words)
    return text.lower() if titled else text
