"""Writes sheets to files; the extension determines the format."""

from pathlib import Path
from typing import Any

from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".pdf": "PDF",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".gif": "GIF",
}
"""By file extension; a name without one is PNG."""
LONGEST = {"JPEG": 65_500, "WEBP": 16_383, "GIF": 65_535}
"""Largest side in pixels, for formats that have a limit."""
_OPTIONS: dict[str, dict[str, Any]] = {
    "PNG": {"optimize": True},
    "JPEG": {"quality": 92},
    "PDF": {"resolution": 100.0},
}


def sheet_format(path: Path) -> str:
    """The format of a sheet by its file name; an unsupported one is an error."""
    if not path.suffix:
        return "PNG"
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(end for end in FORMATS if end not in (".jpeg", ".tiff"))
        raise PolyglanceError(f"{path}: a sheet cannot be written as '{path.suffix}'; use {known}")
    return FORMATS[path.suffix.lower()]


def save_sheet(path: Path, sheet: Image.Image) -> None:
    """Write a sheet atomically, in the format of its extension."""
    form = sheet_format(path)
    if max(sheet.size) > LONGEST.get(form, max(sheet.size)):
        width, height = sheet.size
        raise PolyglanceError(f"{path}: {width}×{height} pixels are too many for {form}; use .png")
    with atomic(path) as handle:
        sheet.save(handle, form, **_OPTIONS.get(form, {}))
