"""Ranks and image names as parts of a pack, which results share."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from polyglance.storage.digest import content_digest
from polyglance.studies.packs.archive import PART_NAME

_WIDTHS = {"u1": 1, "u2": 2, "u4": 4}


def outlined(result: dict[str, Any], put: Callable[[str, bytes], None]) -> dict[str, Any]:
    """A result with references to parts instead of its ranks and images.

    Args:
        result: the JSON of an evaluation with ranks.
        put: stores a part by name.
    """

    def part(name: str, content: bytes) -> str:
        put(name, content)
        return name

    languages = {
        code: {**entry, "ranks": {k: part(*packed_ranks(v)) for k, v in entry["ranks"].items()}}
        for code, entry in result["languages"].items()
    }
    return {**result, "photos": part(*_packed_names(result["photos"])), "languages": languages}


def filled(outline: dict[str, Any], get: Callable[[str], bytes]) -> dict[str, Any]:
    """The result of an outline, with ranks as arrays.

    Args:
        outline: from `outlined`.
        get: returns a part by name.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: if the outline is invalid.
    """
    languages = {
        code: {
            **entry,
            "ranks": {k: unpacked_ranks(_part(v), get(v)) for k, v in entry["ranks"].items()},
        }
        for code, entry in outline["languages"].items()
    }
    return {**outline, "photos": json.loads(get(_part(outline["photos"]))), "languages": languages}


def as_lists(result: dict[str, Any]) -> dict[str, Any]:
    """A result in JSON form."""
    languages = {
        code: {**entry, "ranks": {k: v.tolist() for k, v in entry["ranks"].items()}}
        for code, entry in result["languages"].items()
    }
    return {**result, "languages": languages}


def packed_ranks(values: Any) -> tuple[str, bytes]:
    """A part's name and bytes: the lowest byte of all numbers, then the next, as needed.

    >>> packed_ranks([1, 258])[1]
    b'\\x01\\x02\\x00\\x01'
    """
    array = np.asarray(values, np.int64)
    most = int(array.max(initial=0))
    if int(array.min(initial=0)) < 0 or most >= 1 << 32:
        raise ValueError("ranks are numbers from 0 to 2³² - 1")
    kind = "u1" if most < 1 << 8 else "u2" if most < 1 << 16 else "u4"
    rows = array.astype(f"<{kind}").view(np.uint8).reshape(len(array), _WIDTHS[kind])
    content = rows.T.tobytes()
    return f"parts/{content_digest([kind, content])[:24]}.{kind}", content


def unpacked_ranks(name: str, content: bytes) -> np.ndarray:
    """The numbers in a part.

    >>> unpacked_ranks("parts/0.u2", b"\\x01\\x02\\x00\\x01").tolist()
    [1, 258]
    """
    kind = name.rpartition(".")[2]
    planes = np.frombuffer(content, np.uint8).reshape(_WIDTHS[kind], -1)
    return np.ascontiguousarray(planes.T).view(f"<{kind}").reshape(-1)


def _packed_names(names: list[str]) -> tuple[str, bytes]:
    content = json.dumps(names, ensure_ascii=False).encode()
    return f"parts/{content_digest(['json', content])[:24]}.json", content


def _part(name: Any) -> str:
    if not isinstance(name, str) or not PART_NAME.fullmatch(name):
        raise ValueError("a part has another name")
    return name
