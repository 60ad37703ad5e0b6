"""What a library knows about an image, and how it is named."""

import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from polyglance.core.terminal import path_fields


class Caption(NamedTuple):
    """A text about an image; the language is "" where nobody said it."""

    language: str
    text: str


class Stamp(NamedTuple):
    """What tells, without reading a file, that it is the one seen before."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Record:
    """An image of a library, or a frame of a video; its embedding lies beside it in the store."""

    id: str
    content: str
    """Digest of the file's bytes."""
    path: str
    """Absolute, as `os.fsdecode` gives it."""
    stamp: Stamp
    width: int
    height: int
    """Pixels, upright."""
    taken: datetime | None = None
    """By the camera's clock."""
    latitude: float | None = None
    longitude: float | None = None
    captions: tuple[Caption, ...] = ()
    tags: tuple[str, ...] = ()
    looks: int = 0
    """Perceptual hash, 64 bits."""
    second: float | None = None
    """Of a frame, where in the video it is."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Of the captions, sorted."""
        return tuple(sorted({caption.language for caption in self.captions}))

    @property
    def thumbnail(self) -> str:
        """The key of its thumbnail, which copies share."""
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
    """The id of an image: its content, which of equal files it is, and where in a video.

    It stays the same when the file moves, and is another when the content changes.

    Args:
        content: digest of the file.
        copy: 0 for the first file of that content.
        second: of a frame.

    >>> make_id("ab12"), make_id("ab12", 1, 2.5)
    ('ab12', 'ab12~1@2.5')
    """
    which = f"~{copy}" if copy else ""
    return f"{content}{which}" + ("" if second is None else f"@{second:g}")


def copy_of(name: str) -> int:
    """Which of equal files an id names.

    >>> copy_of("ab12"), copy_of("ab12~1@2.5")
    (0, 1)
    """
    return int(name.partition("@")[0].partition("~")[2] or 0)


def thumbnail_key(name: str) -> str:
    """The key of the thumbnail of an id, which copies share.

    >>> thumbnail_key("ab12~1@2.5")
    'ab12@2.5'
    """
    return re.sub("~[0-9]+", "", name)


def path_text(path: str) -> str:
    """A path as valid Unicode, for stores; bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
