"""Cursors: where the next page of a search begins."""

import base64
import binascii
import json

from polyglance.digest import short_digest
from polyglance.serve.problems import Problem

LONGEST = 100
"""Characters of a cursor."""


def tag_of(*parts: str | bytes | None) -> str:
    """A digest of what a search depends on."""
    shown = [part.hex() if isinstance(part, bytes) else part for part in parts]
    return short_digest([json.dumps(shown).encode()], 8).hex()


def write_cursor(start: int, tag: str) -> str:
    """The cursor of a search, with its tag, that goes on at a rank.

    >>> write_cursor(20, "ab")
    'WzIwLCAiYWIiXQ=='
    """
    return base64.urlsafe_b64encode(json.dumps([start, tag]).encode()).decode()


def read_cursor(cursor: str | None, tag: str) -> int:
    """The rank that a cursor names; one of another search is a problem."""
    if cursor is None:
        return 0
    try:
        start, found = json.loads(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise Problem(400, "the cursor is none that a search here has given") from None
    if type(start) is not int or start < 0:
        raise Problem(400, "the cursor is none that a search here has given")
    if found != tag:
        raise Problem(
            400, "the cursor is of another search, or the images have changed; start again"
        )
    return start
