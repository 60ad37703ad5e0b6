"""Images of emoji, from files named by code points, on a background."""

from pathlib import Path

from PIL import Image, ImageColor

from polyglance.data.emoji.sequences import has_tone, sequence_of_file
from polyglance.data.images.read import EXTENSIONS, decoded
from polyglance.errors import PolyglanceError

MARGIN = 1.3
"""Ratio of the square background's side to the emoji's longer side. Extractors crop the border of
photographs (EfficientNet-Lite keeps 0.875 of the side), which would otherwise crop emoji."""


def find_emoji_images(folder: Path) -> dict[str, Path]:
    """Emoji → its file, at any depth below a folder; without skin tones."""
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder of emoji")
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in EXTENSIONS and path.is_file():
            sequence = sequence_of_file(path)
            if sequence is not None and not has_tone(sequence):
                found.setdefault(sequence, path)
    if not found:
        raise PolyglanceError(
            f"{folder}: contains no images of emoji, named by code points such as 1f34e.png"
        )
    return found


def compose(path: Path, background: str = "white") -> Image.Image:
    """The emoji in the centre of a larger square, RGB.

    Args:
        path: the file.
        background: a CSS colour.
    """
    try:
        colour = ImageColor.getrgb(background)
    except ValueError:
        raise PolyglanceError(f"'{background}' is not a colour; write white or #ffffff") from None
    with decoded(path) as image:
        emoji = image.convert("RGBA")
    side = round(max(emoji.size) * MARGIN)
    canvas = Image.new("RGBA", (side, side), (*colour[:3], 255))
    canvas.alpha_composite(emoji, ((side - emoji.width) // 2, (side - emoji.height) // 2))
    return canvas.convert("RGB")
