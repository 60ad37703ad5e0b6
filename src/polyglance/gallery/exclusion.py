"""Exclusions in the text of a query: `a beach -people`."""

import re

_WITHOUT = re.compile(r'(?:^|(?<=\s))-(?:"([^"]+)"|([^\s"-]\S*))')


def split_query(text: str) -> tuple[str, list[str]]:
    """Split a query into what it asks for and what it excludes.

    >>> split_query('a beach -people -"red boat"')
    ('a beach', ['people', 'red boat'])
    >>> split_query("black-and-white - so to say")
    ('black-and-white - so to say', [])
    """
    unwanted = [quoted or word for quoted, word in _WITHOUT.findall(text)]
    return " ".join(_WITHOUT.sub("", text).split()), unwanted


def exclusion_note(text: str) -> str | None:
    """The note for a sentence that is searched as it is, but looks as if it excluded something.

    >>> exclusion_note("a beach -people")
    "'a beach -people' is searched as a whole; to exclude something, use: --not 'people'"
    >>> exclusion_note("a beach")
    """
    _, unwanted = split_query(text)
    if not unwanted:
        return None
    options = " ".join(f"--not '{one}'" for one in unwanted)
    return f"'{text}' is searched as a whole; to exclude something, use: {options}"
