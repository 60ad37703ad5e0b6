"""The data of an image in a library, and its id."""

import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from polyglance.core.terminal import path_fields


class Caption(NamedTuple):
    """A text about an image; the language is "" if unknown."""

    language: str
    text: str


class Stamp(NamedTuple):
    """Metadata that identifies an unchanged file without reading it."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Record:
    """An image of a library, or a frame of a video; the store keeps its embedding as well."""

    id: str
    content: str
    """Digest of the file's bytes."""
    path: str
    """Absolute, as from `os.fsdecode`."""
    stamp: Stamp
    width: int
    height: int
    """Pixels, upright."""
    taken: datetime | None = None
    """Local time of the camera."""
    latitude: float | None = None
    longitude: float | None = None
    captions: tuple[Caption, ...] = ()
    tags: tuple[str, ...] = ()
    perceptual_hash: int = 0
    """Perceptual hash, 64 bits."""
    second: float | None = None
    """For a frame, its position in the video."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the captions, sorted."""
        return tuple(sorted({caption.language for caption in self.captions}))

    @property
    def thumbnail(self) -> str:
        """The key of its thumbnail, shared by copies."""
        return thumbnail_key(self.id)

    def as_dict(self) -> dict[str, Any]:
        """Its fields for JSON."""
        from pathlib import Path

        return {
            "id": self.id,
            **path_fields(Path(self.path)),
            "content": self.content,
            "size": self.stamp.size,
            "modified": datetime.fromtimestamp(self.stamp.mtime_ns / 1e9).isoformat(),
            "width": self.width,
            "height": self.height,
            "taken": None if self.taken is None else self.taken.isoformat(),
            "latitude": self.latitude,
            "longitude": self.longitude,
            "captions": [caption._asdict() for caption in self.captions],
            "tags": list(self.tags),
            "second": self.second,
        }


def make_id(content: str, copy: int = 0, second: float | None = None) -> str:
    """The id of an image: content digest, number among equal files, and position in a video.

    It stays the same when the file moves, and changes with the content.

    Args:
        content: digest of the file.
        copy: 0 for the first file with that content.
        second: of a frame.

    >>> make_id("ab12"), make_id("ab12", 1, 2.5)
    ('ab12', 'ab12~1@2.5')
    """
    which = f"~{copy}" if copy else ""
    return f"{content}{which}" + ("" if second is None else f"@{second:g}")


def copy_of(name: str) -> int:
    """The number among equal files in an id.

    >>> copy_of("ab12"), copy_of("ab12~1@2.5")
    (0, 1)
    """
    return int(name.partition("@")[0].partition("~")[2] or 0)


def second_of(name: str) -> float | None:
    """The position in a video in an id; None if it is not a frame's.

    >>> second_of("ab12~1@2.5"), second_of("ab12")
    (2.5, None)
    """
    second = name.partition("@")[2]
    return float(second) if second else None


def thumbnail_key(name: str) -> str:
    """The key of an id's thumbnail, shared by copies.

    >>> thumbnail_key("ab12~1@2.5")
    'ab12@2.5'
    """
    return re.sub("~[0-9]+", "", name)


def path_text(path: str) -> str:
    """A path as valid Unicode, for stores; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
