"""Sheets as files, in the format that the file's name says."""

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
"""By the end of a file's name; a name without an end is PNG."""
LONGEST = {"JPEG": 65_500, "WEBP": 16_383, "GIF": 65_535}
"""Pixels of a side at most, of formats that have a limit."""
_OPTIONS: dict[str, dict[str, Any]] = {
    "PNG": {"optimize": True},
    "JPEG": {"quality": 92},
    "PDF": {"resolution": 100.0},
}


def sheet_format(path: Path) -> str:
    """The format of a sheet by its name; one that cannot be written is an error."""
    if not path.suffix:
        return "PNG"
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(end for end in FORMATS if end not in (".jpeg", ".tiff"))
        raise PolyglanceError(f"{path}: a sheet cannot be written as '{path.suffix}'; use {known}")
    return FORMATS[path.suffix.lower()]


def save_sheet(path: Path, sheet: Image.Image) -> None:
    """Write a sheet as its name says, all of it or nothing."""
    form = sheet_format(path)
    if max(sheet.size) > LONGEST.get(form, max(sheet.size)):
        width, height = sheet.size
        raise PolyglanceError(
            f"{path}: {width}×{height} pixels are more than {form} can hold; name it .png"
        )
    with atomic(path) as handle:
        sheet.save(handle, form, **_OPTIONS.get(form, {}))
