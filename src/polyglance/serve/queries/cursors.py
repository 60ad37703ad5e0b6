"""Cursors: where the next page of a search starts."""

import base64
import binascii
import json
import math
from typing import NamedTuple

from polyglance.serve.problems import Problem
from polyglance.storage.digest import short_digest

LONGEST = 300
"""Largest number of characters of a cursor."""
_NONE = "the cursor is not from a search of this service"


class Seen(NamedTuple):
    """The last image of a page: its score then, and its id."""

    score: float
    id: str


def tag_of(*parts: str | None) -> str:
    """A digest of what a search depends on."""
    return short_digest([json.dumps(parts).encode()], 8).hex()


def write_cursor(last: Seen, tag: str) -> str:
    """The cursor that continues a search, identified by its tag, after an image.

    >>> write_cursor(Seen(0.5, "5f2c"), "ab")
    'WzAuNSwgIjVmMmMiLCAiYWIiXQ=='
    """
    return base64.urlsafe_b64encode(json.dumps([*last, tag]).encode()).decode()


def read_cursor(cursor: str | None, tag: str) -> Seen | None:
    """The image that a cursor continues after; a cursor of another search is a problem."""
    if cursor is None:
        return None
    try:
        score, name, found = json.loads(
            base64.b64decode(cursor.encode("ascii"), b"-_", validate=True)
        )
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise Problem(400, _NONE) from None
    if type(score) is not float or not isinstance(name, str) or not math.isfinite(score):
        raise Problem(400, _NONE)
    if found != tag:
        raise Problem(400, "the cursor belongs to another search; leave it out to start again")
    return Seen(score, name)
