"""Lower-cases texts that are in capitals or title case."""

import regex

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
LONGEST_ACRONYM = 4
TITLE = 3
"""Fewest words of a title; two capitalised words are often a name."""


def lower_capitals(text: str) -> str:
    """Lower-case the text if its capitals carry no information.

    Pieces are case-sensitive, and were learned from hardly any sentences in capitals. A single
    short word in capitals may be an acronym and is unchanged.

    >>> [lower_capitals(text) for text in ("ZWEI HUNDE IM SCHNEE", "Two Dogs In The Snow", "BMW")]
    ['zwei hunde im schnee', 'two dogs in the snow', 'BMW']
    >>> [lower_capitals(text) for text in ("Zwei Hunde im Schnee", "Angela Merkel", "雪 A")]
    ['Zwei Hunde im Schnee', 'Angela Merkel', '雪 A']
    """
    words = [word for word in _WORD.findall(text) if word.lower() != word.upper()]
    if not words:
        return text
    shouted = all(word.isupper() for word in words)
    if shouted and (len(words) > 1 or len(words[0]) > LONGEST_ACRONYM):
        return text.lower()
    titled = len(words) >= TITLE and all(word[0].isupper() for word in words)
    return text.lower() if titled else text
