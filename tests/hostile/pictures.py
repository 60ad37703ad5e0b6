"""Image files from an attacker, or from a bad disk."""

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
from PIL import Image

from tests.hostile.cases import Case, damaged, seeds

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO")
NOISE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG, with its checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(path: Path, head: tuple[int, ...], data: bytes, *more: bytes) -> Path:
    """A PNG of any header (width, height, depth, colour, …), whatever its data."""
    parts = [chunk(b"IHDR", struct.pack(">IIBBBBB", *head)), *more]
    parts += [chunk(b"IDAT", data), chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


def sixteen_bit_png(path: Path, width: int, height: int) -> Path:
    """A small file that decodes large: grey of 16 bits, all alike."""
    squeeze = zlib.compressobj(9)
    rows = b"".join(squeeze.compress(b"\0" * (1 + 2 * width)) for _ in range(height))
    return png(path, (width, height, 16, 0, 0, 0, 0), rows + squeeze.flush())


@cache
def encoded(kind: str) -> bytes:
    """A small good image of a format."""
    buffer = io.BytesIO()
    Image.fromarray(NOISE).save(buffer, kind)
    return buffer.getvalue()


def _file(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def _png(folder: Path, head: tuple[int, ...], data: bytes) -> Path:
    return png(folder / "a.png", head, data)


def _made(folder: Path, make: Callable[[Path], object]) -> Path:
    make(folder / "a.jpg")
    return folder / "a.jpg"


def _endless_gif() -> bytes:
    """A GIF of 65,535 × 65,535 whose first frame is as large."""
    screen = b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0)
    frame = b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0)
    return screen + frame + b"\x08\xff" + b"0" * 255 + b"\0;"


OTHERS = {
    "nothing": b"",
    "one byte": b"\xff",
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(w) (/tmp/x) file\n",
    "PDF": b"%PDF-1.7\n",
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "HTML": b"<!DOCTYPE html><script>alert(1)</script>",
    "a zip": b"PK\x03\x04" + b"\0" * 60,
    "a program": b"#!/bin/sh\ntouch pwned\n",
    "a FITS file": b"SIMPLE  =" + b" " * 2900,
    "a Windows metafile": b"\xd7\xcd\xc6\x9a" + b"\0" * 60,
    "a Photoshop file": b"8BPS\0\1" + b"\0" * 60,
    "a JPEG that is only its start": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "a GIF of four gigapixels": _endless_gif(),
    "a BMP of negative size": b"BM" + struct.pack("<IHHIIiiHH", 70, 0, 0, 54, 40, -9, -9, 1, 24),
    "a PPM of a huge size": b"P6 999999999 999999999 255\n",
    "a TIFF whose directory is itself": b"II*\0\x08\0\0\0\x01\0" + b"\x08\0" * 6 + b"\x08\0\0\0",
}


def _certain() -> Iterator[Case]:
    for name, data in OTHERS.items():
        yield Case(name, partial(_file, name="a.jpg", data=data))
    for width, height in ((0, 0), (1, 0), (2**31 - 1, 2**31 - 1), (60_000, 60_000), (2**31, 1)):
        head = (width, height, 8, 2, 0, 0, 0)
        yield Case(f"PNG of {width}×{height}", partial(_png, head=head, data=zlib.compress(b"0")))
    for depth, colour in ((3, 0), (16, 3), (8, 1), (0, 0), (255, 255)):
        head = (9, 9, depth, colour, 0, 0, 0)
        yield Case(f"PNG of kind {depth}, {colour}", partial(_png, head=head, data=b""))
    yield Case("a folder", partial(_made, make=Path.mkdir))
    yield Case("a pipe", partial(_made, make=os.mkfifo))
    yield Case("nothing there", partial(_made, make=str))
    yield Case("a link to itself", partial(_made, make=lambda path: path.symlink_to(path)))
    yield Case("a link to a device", partial(_made, make=lambda path: path.symlink_to("/dev/zero")))


def picture_cases(count: int) -> Iterator[Case]:
    """The certain cases, and `count` of random damage to images of all formats."""
    yield from _certain()
    for number, generator in enumerate(seeds(count)):
        kind = FORMATS[number % len(FORMATS)]
        data = damaged(encoded(kind), generator)
        # By the content, not the name: half of them are called what they are not.
        name = "a.jpg" if generator.integers(2) else f"a.{kind.lower()}"
        yield Case(f"damaged {kind} {number}", partial(_file, name=name, data=data), None)
