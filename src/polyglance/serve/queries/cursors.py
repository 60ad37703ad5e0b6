"""Cursors: where the next page of a search begins."""

import base64
import binascii
import json
import math
from typing import NamedTuple

from polyglance.serve.problems import Problem
from polyglance.storage.digest import short_digest

LONGEST = 300
"""Characters of a cursor."""
_NONE = "the cursor is none that a search here has given"


class Seen(NamedTuple):
    """The last image of a page: its id, and the score that it had."""

    score: float
    id: str


def tag_of(*parts: str | None) -> str:
    """A digest of what a search depends on."""
    return short_digest([json.dumps(parts).encode()], 8).hex()


def write_cursor(last: Seen, tag: str) -> str:
    """The cursor of a search, with its tag, that goes on after an image.

    >>> write_cursor(Seen(0.5, "5f2c"), "ab")
    'WzAuNSwgIjVmMmMiLCAiYWIiXQ=='
    """
    return base64.urlsafe_b64encode(json.dumps([*last, tag]).encode()).decode()


def read_cursor(cursor: str | None, tag: str) -> Seen | None:
    """The image that a cursor goes on after; one of another search is a problem."""
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
        raise Problem(400, "the cursor is of another search; leave it out to start again")
    return Seen(score, name)
