"""Camera RAW files, read by rawpy."""

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from polyglance.data.images.read import MAX_PIXELS
from polyglance.errors import ImageProblem
from polyglance.library.media.kinds import Frame


def read_raw(path: Path, at_least: int) -> Iterator[Frame]:
    """The image of a RAW file, developed with the camera's white balance.

    Args:
        path: of the file.
        at_least: required pixels of the shorter side; if half the resolution suffices, it is
            developed at that, which is fast.
    """
    import rawpy

    try:
        with rawpy.imread(str(path)) as raw:
            width, height = raw.sizes.width, raw.sizes.height
            if width * height > MAX_PIXELS:
                limit = f"the limit is {MAX_PIXELS / 1e6:.0f} million"
                raise ImageProblem(path, f"too large ({width}×{height} pixels, {limit})")
            half = min(width, height) // 2 >= at_least
            pixels = raw.postprocess(half_size=half, use_camera_wb=True, output_bps=8)
            if raw.sizes.flip in (5, 6):  # rotated when developed
                width, height = height, width
    except ImageProblem:
        raise
    except Exception as error:  # LibRaw's errors, and numpy's for damaged files
        raise ImageProblem(path, f"unreadable RAW file ({type(error).__name__})") from None
    yield Frame(Image.fromarray(pixels), width, height)
