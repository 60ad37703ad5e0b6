"""Conversion of images to rows of Milvus, and of filters to its conditions."""

import base64
import json
import os
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.library.filters import Filter
from polyglance.library.record import Caption, Record, Stamp, path_text

LONGEST = 65_535
"""Largest text in bytes, a limit of Milvus."""
TEXTS = {"id": 512, "path": 16_384, "path_hex": 32_768, "content": 256, "more": LONGEST}
NUMBERS = ("size", "mtime_ns", "inode", "width", "height", "taken")
LISTS = "lists"
"""The field with lists to filter by; JSON, as arrays of strings have a fixed capacity."""
METADATA = [*TEXTS, *NUMBERS, LISTS]
KNOWN = ["id", "path", "path_hex", "content", "size", "mtime_ns", "inode"]
NEVER = -(2**63) + 1
"""The date of an image without one: earlier than any other."""
_EPOCH, _SIGN = datetime(1970, 1, 1), 2**63
_PACKED = "zlib:"


def to_row(record: Record) -> dict[str, Any]:
    """The fields of an image, without its vector."""
    exact, text = os.fsencode(record.path), path_text(record.path)
    row = {
        "id": record.id,
        "path": text,
        "path_hex": "" if text.encode() == exact else exact.hex(),
        "content": record.content,
        "size": record.stamp.size,
        "mtime_ns": record.stamp.mtime_ns,
        "inode": _signed(record.stamp.inode),
        "width": record.width,
        "height": record.height,
        "taken": NEVER if record.taken is None else microseconds(record.taken),
        LISTS: {"tags": list(record.tags), "languages": list(record.languages)},
        "more": _packed(
            {
                "latitude": record.latitude,
                "longitude": record.longitude,
                "captions": record.captions,
                "looks": record.perceptual_hash,
                "second": record.second,
            }
        ),
    }
    for name, most in TEXTS.items():
        if len(str(row[name]).encode()) > most:
            raise PolyglanceError(
                f"{text}: Milvus stores at most {most:,} bytes of '{name}'; shorten its captions "
                "or its path, or use LanceDB for the library"
            )
    return row


def to_record(row: Mapping[str, Any]) -> Record:
    """The image of a row with all fields of `METADATA`."""
    more = _unpacked(row["more"])
    taken = int(row["taken"])
    return Record(
        id=row["id"],
        content=row["content"],
        path=path_of(row),
        stamp=stamp_of(row),
        width=int(row["width"]),
        height=int(row["height"]),
        taken=None if taken == NEVER else _EPOCH + timedelta(microseconds=taken),
        latitude=more["latitude"],
        longitude=more["longitude"],
        captions=tuple(Caption(*caption) for caption in more["captions"]),
        tags=tuple(row[LISTS]["tags"]),
        perceptual_hash=more["looks"],
        second=more["second"],
    )


def path_of(row: Mapping[str, Any]) -> str:
    """The path of an image, as the system knows it."""
    exact = row["path_hex"]
    return os.fsdecode(bytes.fromhex(exact)) if exact else str(row["path"])


def stamp_of(row: Mapping[str, Any]) -> Stamp:
    """The stamp of a row, to recognise an unchanged file."""
    return Stamp(int(row["size"]), int(row["mtime_ns"]), int(row["inode"]) + _SIGN)


def _signed(number: int) -> int:
    """An unsigned 64-bit number as a signed one, preserving the order."""
    return number - _SIGN


def _packed(fields: dict[str, Any]) -> str:
    """Fields that are not filtered by, as JSON; compressed if long."""
    text = json.dumps(fields)
    if len(text) <= LONGEST:
        return text
    return _PACKED + base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> dict[str, Any]:
    if text.startswith(_PACKED):
        text = zlib.decompress(base64.b64decode(text[len(_PACKED) :])).decode()
    found: dict[str, Any] = json.loads(text)
    return found


def microseconds(moment: datetime) -> int:
    """Since 1970, ignoring time zones.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


def to_condition(where: Filter) -> str:
    """The condition of a filter; "" if it matches all images."""
    parts = [f'json_contains({LISTS}["tags"], {quote(tag)})' for tag in where.tags]
    if where.language is not None:
        parts.append(f'json_contains({LISTS}["languages"], {quote(where.language)})')
    if where.prefix is not None:
        # A range instead of LIKE: folder names may contain its wildcards.
        after = where.prefix[:-1] + chr(ord(where.prefix[-1]) + 1)
        parts.append(f"path >= {quote(where.prefix)} and path < {quote(after)}")
    if where.since is not None:
        parts.append(f"taken >= {microseconds(where.since)}")
    if where.before is not None:
        parts.append(f"taken > {NEVER} and taken < {microseconds(where.before)}")
    if where.smallest is not None:
        parts.append(f"width >= {int(where.smallest)} and height >= {int(where.smallest)}")
    return " and ".join(parts)


def of_ids(ids: list[str]) -> str:
    """The condition that matches some images."""
    return f"id in [{', '.join(map(quote, ids))}]"


def quote(text: str) -> str:
    r"""A string literal of Milvus.

    >>> quote('a "b"')
    '"a \\"b\\""'
    """
    return json.dumps(text, ensure_ascii=False)
