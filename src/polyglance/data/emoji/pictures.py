"""Pictures of emoji: files that are called by code points, set on a background."""

from pathlib import Path

from PIL import Image, ImageColor

from polyglance.data.emoji.sequences import has_tone, sequence_of_file
from polyglance.data.images.read import EXTENSIONS, decoded
from polyglance.errors import PolyglanceError

MARGIN = 1.3
"""Side of the square background by the longer side of the emoji. Extractors cut the border off
photographs (EfficientNet-Lite keeps 0.875 of the side); without a margin they would cut emoji."""


def find_pictures(folder: Path) -> dict[str, Path]:
    """Emoji → its file anywhere below a folder; skin tones are left out."""
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
            f"{folder}: holds no pictures of emoji; they are called by code points: 1f34e.png"
        )
    return found


def compose(path: Path, background: str = "white") -> Image.Image:
    """The picture in the middle of a larger square, RGB.

    Args:
        path: the file.
        background: a colour as CSS writes it.
    """
    try:
        colour = ImageColor.getrgb(background)
    except ValueError:
        raise PolyglanceError(f"'{background}' is no colour; write white or #ffffff") from None
    with decoded(path) as image:
        emoji = image.convert("RGBA")
    side = round(max(emoji.size) * MARGIN)
    canvas = Image.new("RGBA", (side, side), (*colour[:3], 255))
    canvas.alpha_composite(emoji, ((side - emoji.width) // 2, (side - emoji.height) // 2))
    return canvas.convert("RGB")
