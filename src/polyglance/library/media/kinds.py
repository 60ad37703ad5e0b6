"""File types of a library: images, and RAW and videos if their packages are installed."""

import os
from importlib.util import find_spec
from typing import NamedTuple

import PIL
from PIL import Image

from polyglance.data.images.read import EXTENSIONS

_RAW = "3fr arw cr2 cr3 dng erf kdc mef mos mrw nef nrw orf pef raf raw rw2 sr2 srw x3f"
_VIDEOS = "avi m4v mkv mov mp4 mpeg mpg mts ogv webm wmv"
RAW = frozenset(f".{end}" for end in _RAW.split())
VIDEOS = frozenset(f".{end}" for end in _VIDEOS.split())
MODULES = {"rawpy": "rawpy", "av": "av", "pillow-heif": "pillow_heif"}
"""Packages that read RAW, videos and HEIC; `pip install 'polyglance[media]'` has all."""


class Frame(NamedTuple):
    """An image in a file: the only one, or a frame of a video."""

    image: Image.Image
    width: int
    height: int
    second: float | None = None


def kind_of(name: str) -> str | None:
    """ "image", "raw" or "video" by a file's name; None for others.

    >>> kind_of("A.JPG"), kind_of("a.nef"), kind_of("a.txt")
    ('image', 'raw', None)
    """
    end = os.path.splitext(name)[1].lower()
    if end in EXTENSIONS:
        return "image"
    return "raw" if end in RAW else "video" if end in VIDEOS else None


def installed(package: str) -> bool:
    """Whether one of `MODULES` is installed."""
    return find_spec(MODULES[package]) is not None


def needed_package(kind: str) -> str | None:
    """The missing package that files of a kind need, if any."""
    package = {"raw": "rawpy", "video": "av"}.get(kind)
    return package if package is not None and not installed(package) else None


def readers() -> str:
    """Versions of the decoders: if they change, unreadable files are worth another attempt."""
    return "+".join([f"pillow {PIL.__version__}", *filter(installed, MODULES)])
