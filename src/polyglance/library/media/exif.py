"""Metadata in an image file: time and place, keywords, a caption."""

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from PIL import Image, IptcImagePlugin

from polyglance.library.record import Caption

_EXIF, _GPS = 0x8769, 0x8825
_DATES = (36867, 36868)
"""DateTimeOriginal, DateTimeDigitized."""
_ORIENTATION, _DESCRIPTION, _KEYWORDS = 0x0112, 0x010E, 0x9C9E
_IPTC_KEYWORDS, _IPTC_CAPTION = (2, 25), (2, 120)
_NO_CAPTIONS = {"olympus digital camera", "sony dsc", "digital camera", "dcim", "default"}
"""Descriptions that cameras write by themselves."""
MAX_TAGS, MAX_TAG, MAX_CAPTION = 100, 100, 2000
"""Limits on a file's keywords and caption."""


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """Metadata of an image file; missing or damaged values are left out."""

    width: int
    height: int
    taken: datetime | None = None
    latitude: float | None = None
    longitude: float | None = None
    captions: tuple[Caption, ...] = ()
    tags: tuple[str, ...] = ()


def read_metadata(image: Image.Image) -> FileMetadata:
    """Metadata of an open image that has not been resized."""
    exif = _exif(image)
    width, height = image.size
    if exif.get(_ORIENTATION) in (5, 6, 7, 8):  # rotated by 90 degrees
        width, height = height, width
    place = _place(_part(exif, _GPS))
    iptc = _iptc(image)
    texts = [exif.get(_DESCRIPTION), *_listed(iptc.get(_IPTC_CAPTION))]
    words = [*_windows_keywords(exif.get(_KEYWORDS)), *_listed(iptc.get(_IPTC_KEYWORDS))]
    captions = [text for text in _clean(texts, MAX_CAPTION) if text.lower() not in _NO_CAPTIONS]
    return FileMetadata(
        width,
        height,
        _taken(_part(exif, _EXIF)),
        *place,
        tuple(Caption("", text) for text in captions),
        tuple(_clean(words, MAX_TAG)[:MAX_TAGS]),
    )


def _exif(image: Image.Image) -> Any:
    try:
        return image.getexif()
    except Exception:  # damaged blocks raise many types
        return {}


def _part(exif: Any, which: int) -> dict[int, Any]:
    try:
        return dict(exif.get_ifd(which)) if exif else {}
    except Exception:
        return {}


def _taken(values: dict[int, Any]) -> datetime | None:
    for key in _DATES:
        text = values.get(key)
        if isinstance(text, str):
            try:
                found = datetime.strptime(text.strip("\0 ")[:19], "%Y:%m:%d %H:%M:%S")
            except ValueError:  # cameras without a clock write zeros
                continue
            if found.year >= 1900:
                return found
    return None


def _place(values: dict[int, Any]) -> tuple[float | None, float | None]:
    try:
        latitude = _degrees(values[2]) * (-1 if str(values[1]).upper().startswith("S") else 1)
        longitude = _degrees(values[4]) * (-1 if str(values[3]).upper().startswith("W") else 1)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError):
        return None, None
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):  # also rejects NaN
        return None, None
    return latitude, longitude


def _degrees(parts: Any) -> float:
    degrees, minutes, seconds = (float(part) for part in (*parts, 0, 0)[:3])
    found = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(found):
        raise ValueError(parts)
    return found


def _iptc(image: Image.Image) -> dict[tuple[int, int], Any]:
    try:
        return IptcImagePlugin.getiptcinfo(image) or {}  # type: ignore[arg-type]
    except Exception:
        return {}


def _windows_keywords(value: Any) -> list[str]:
    if not isinstance(value, bytes | tuple):
        return []
    return bytes(value).decode("utf-16-le", "replace").strip("\0").split(";")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _clean(values: Iterable[Any], longest: int) -> list[str]:
    """Distinct, non-empty texts, each in one line and NFC."""
    found = []
    for value in values:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if not isinstance(text, str):
            continue
        text = text.encode("utf-8", "replace").decode()
        kept = (" " if unicodedata.category(letter).startswith("C") else letter for letter in text)
        text = " ".join(unicodedata.normalize("NFC", "".join(kept)).split())[:longest]
        if text:
            found.append(text)
    return list(dict.fromkeys(found))
