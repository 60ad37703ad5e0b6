"""Safe decoding of image files: every file gives an RGB image or the reason why not."""

import logging
import os
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from PIL import Image, JpegImagePlugin, UnidentifiedImageError

from polyglance.data.images.decoding import decoding_bytes, memory
from polyglance.data.images.rgb import convert_to_rgb, turn_upright
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.storage.digest import file_chunks, short_digest

_COMMON = (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".bmp")
_RARE = (".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm", ".avif", ".jp2", ".heic", ".heif")
EXTENSIONS = frozenset((*_COMMON, *_RARE))
_ALWAYS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "ICO", "JPEG2000")
FORMATS = (*_ALWAYS, "AVIF", "HEIF")
"""Pillow's names of the supported formats; the last two only if Pillow has them.

Only raster formats: for PostScript, Pillow runs Ghostscript, which executes the file.
"""
MAX_PIXELS = 100_000_000
"""Largest image to decode; larger JPEGs are decoded at 1/2, 1/4 or 1/8."""
MAX_BYTES = 1_200_000_000
"""Most memory for one image; `decoding.AT_A_TIME` is the limit for all together."""

# MAX_PIXELS limits the size, and damaged metadata does not matter: neither warning should
# interrupt the progress bar.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", "Corrupt EXIF data|Truncated File Read", UserWarning)
logging.getLogger("PIL").setLevel(logging.CRITICAL)


_OTHERS = {
    b"%!PS": "PostScript",
    b"\xc5\xd0\xd3\xc6": "PostScript",
    b"%PDF": "PDF",
    b"8BPS": "Photoshop",
    b"<svg": "SVG",
    b"<?xm": "XML",
    b"<!DO": "HTML",
    b"<htm": "HTML",
}
"""First bytes of unsupported files, for the message."""


def read_image(path: Path, at_least: int | None = None) -> Image.Image:
    """The upright RGB image; raises `ImageProblem`.

    The first frame of an animation, transparency on white, 16 bits scaled to 8. With `at_least`, a
    large JPEG is decoded at reduced size, with both sides at least twice that many pixels.
    """
    with reading(path, at_least) as image:
        return image


@contextmanager
def reading(path: Path, at_least: int | None = None) -> Iterator[Image.Image]:
    """`read_image` that reserves the memory until the block ends, for resizing within it."""
    with decoded(path, at_least) as image:
        with _problems(path):
            turn_upright(image)
            result = convert_to_rgb(path, image)
        yield result


@contextmanager
def decoded(path: Path, at_least: int | None = None) -> Iterator[Image.Image]:
    """The decoded image, unconverted, within the memory budget."""
    with ExitStack() as stack:
        with _problems(path):
            _check_regular(path)
            handle = stack.enter_context(path.open("rb"))
            image = stack.enter_context(open_image(path, handle))
            stack.enter_context(memory.take(_shrink(path, image, at_least)))
            image.load()
        yield image


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    """Turn any error into an `ImageProblem`."""
    try:
        yield
    except (PolyglanceError, KeyboardInterrupt):
        raise
    except OSError as error:
        raise ImageProblem(path, _os_reason(error)) from None
    except MemoryError:
        raise ImageProblem(path, "not enough memory to decode it") from None
    except Exception as error:  # decoders raise nearly anything for damaged files
        raise ImageProblem(path, f"damaged image ({_first_line(error)})") from None


def list_images(folder: Path, unreadable: list[tuple[Path, str]] | None = None) -> list[Path]:
    """All images below a folder, sorted, without hidden files and folders.

    Unreadable subfolders are added to `unreadable`, with the reason; without that list they are an
    error, as the folder itself always is.
    """
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder of images")

    def skip(error: OSError) -> None:
        where = Path(error.filename)
        reason = f"the folder cannot be read ({error.strerror or error})"
        if unreadable is None or where == folder:
            raise ImageProblem(where, reason)
        unreadable.append((where, reason))

    found = []
    for parent, folders, files in os.walk(folder, onerror=skip):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(parent, name)
            for name in files
            if not name.startswith(".") and Path(name).suffix.lower() in EXTENSIONS
        ]
    return sorted(found, key=Path.as_posix)


def content_key(path: Path) -> str:
    """Digest of the file's content, 32 hexadecimal digits; independent of its path."""
    try:
        _check_regular(path)
        return short_digest(file_chunks(path), 16).hex()
    except OSError as error:
        raise ImageProblem(path, _os_reason(error)) from None


def _check_regular(path: Path) -> None:
    """Raise an `ImageProblem` for a folder or a pipe; opening a pipe would block."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise ImageProblem(path, "a folder" if stat.S_ISDIR(mode) else "not a regular file")


def open_image(path: Path, handle: BinaryIO) -> Image.Image:
    """Open an image in one of `FORMATS` without decoding it; `handle` is the open file."""
    if path.suffix.lower() in (".heic", ".heif"):
        _register_heif(path)
    Image.init()
    try:
        return Image.open(handle, formats=[name for name in FORMATS if name in Image.OPEN])
    except UnidentifiedImageError:
        raise ImageProblem(path, _unknown(handle)) from None
    except Image.DecompressionBombError as error:
        handle.seek(0)
        if handle.read(2) != b"\xff\xd8":
            raise ImageProblem(path, _too_large(error)) from None
        handle.seek(0)
        return JpegImagePlugin.JpegImageFile(handle)


def _too_large(error: Image.DecompressionBombError) -> str:
    """The reason, with the number of pixels that Pillow's message has."""
    found = re.search(r"\((\d+) pixels\)", str(error))
    pixels = f"{int(found[1]):,}" if found else "too many"
    return f"too large ({pixels} pixels, the limit is {MAX_PIXELS / 1e6:.0f} million)"


def _unknown(handle: BinaryIO) -> str:
    handle.seek(0)
    start = handle.read(4)
    if not start:
        return "empty file"
    kind = f"{_OTHERS[start]}, " if start in _OTHERS else ""
    return f"{kind}not an image that can be read; save it as JPEG or PNG"


def _register_heif(path: Path) -> None:
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        raise ImageProblem(path, "HEIC needs pip install 'polyglance[media]'") from None
    register_heif_opener()


def _shrink(path: Path, image: Image.Image, at_least: int | None) -> int:
    """Reduce a large JPEG, and return the bytes needed; an `ImageProblem` if still too large."""
    width, height = image.size
    if (factor := _reduction(width, height, at_least)) > 1:
        image.draft(image.mode, (width // factor, height // factor))
    # A progressive JPEG keeps all its coefficients in memory, even at reduced size.
    held = (width, height) if image.info.get("progressive") else image.size
    if held[0] * held[1] > MAX_PIXELS:
        limit = f"{width}×{height} pixels, the limit is {MAX_PIXELS / 1e6:.0f} million"
        raise ImageProblem(path, f"too large ({limit})")
    taken = decoding_bytes(image, width * height)
    if taken > MAX_BYTES:
        limit = f"{width}×{height} pixels take {taken / 1e6:.0f} MB of {MAX_BYTES / 1e6:.0f}"
        raise ImageProblem(path, f"too large ({limit})")
    return taken


def _reduction(width: int, height: int, at_least: int | None) -> int:
    """The JPEG decoder's reduction, 1, 2, 4 or 8, by memory limit and `at_least`."""
    needed = [f for f in (1, 2, 4) if width * height <= MAX_PIXELS * f * f] or [8]
    if at_least is None:
        return needed[0]
    return max([needed[0], *(f for f in (2, 4, 8) if min(width, height) // f >= 2 * at_least)])


def _os_reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return f"damaged image ({error.strerror or _first_line(error)})"


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
