"""Encodes an image as terminal output."""

import base64
from collections.abc import Sequence
from io import BytesIO
from itertools import groupby

import numpy as np
from PIL import Image

KITTY_CHUNK = 4096
"""Characters per command of kitty's protocol."""
RESET = "\x1b[0m"
COLOURS = 255
BAND = 6
"""Rows of pixels per row of sixels."""


def kitty(image: Image.Image, columns: int, rows: int) -> str:
    """Kitty's graphics protocol: PNG in commands of 4,096 characters.

    Args:
        image: RGB.
        columns: width in the terminal, in characters.
        rows: height.
    """
    coded = _png(image)
    parts = [coded[i : i + KITTY_CHUNK] for i in range(0, len(coded), KITTY_CHUNK)]
    keys = f"a=T,f=100,c={columns},r={rows},"
    commands = []
    for number, part in enumerate(parts, 1):
        more = int(number < len(parts))
        commands.append(f"\x1b_G{keys if number == 1 else ''}m={more};{part}\x1b\\")
    return "".join(commands) + "\n"


def iterm2(image: Image.Image, columns: int, rows: int) -> str:
    """ITerm2's inline images.

    Args:
        image: RGB.
        columns: width in the terminal, in characters.
        rows: height.
    """
    keys = f"inline=1;width={columns};height={rows};preserveAspectRatio=0"
    return f"\x1b]1337;File={keys}:{_png(image)}\x07\n"


def sixel(image: Image.Image) -> str:
    """DEC's sixels: bands of six rows, one run per colour."""
    paletted = image.convert("RGB").quantize(COLOURS)
    pixels = np.asarray(paletted)
    palette = np.array(paletted.getpalette(), int).reshape(-1, 3)
    height, width = pixels.shape
    lines = [f'\x1bPq"1;1;{width};{height}']
    for colour in np.unique(pixels):
        red, green, blue = np.rint(palette[colour] * 100 / 255).astype(int)
        lines.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, height, BAND):
        band = pixels[top : top + BAND]
        weights = 1 << np.arange(len(band))[:, None]
        runs = [
            f"#{colour}{_runs(((band == colour) * weights).sum(0))}" for colour in np.unique(band)
        ]
        lines.append("$".join(runs) + "-")
    return "".join(lines) + "\x1b\\\n"


def _runs(values: np.ndarray) -> str:
    """Sixels [width], run-length encoded."""
    found = []
    for value, same in groupby(values.tolist()):
        count, letter = len(list(same)), chr(63 + value)
        found.append(f"!{count}{letter}" if count > 3 else letter * count)
    return "".join(found)


def blocks(image: Image.Image) -> str:
    """Half blocks, one character per two pixels, one above the other, in 24-bit colour.

    Where a pixel is transparent, the terminal's background shows.
    """
    pixels = np.asarray(image.convert("RGBA")).tolist()
    lines = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        line = "".join(_block(*pair) for pair in zip(upper, lower, strict=True))
        lines.append(line + f"{RESET}\n")
    return "".join(lines)


def _block(upper: Sequence[int], lower: Sequence[int]) -> str:
    """A character of two pixels (red, green, blue, alpha)."""
    above, below = (";".join(map(str, pixel[:3])) if pixel[3] else None for pixel in (upper, lower))
    if above and below:
        return f"\x1b[38;2;{above};48;2;{below}m▀"
    if above or below:
        return f"{RESET}\x1b[38;2;{above or below}m{'▀' if above else '▄'}"
    return f"{RESET} "


def _png(image: Image.Image) -> str:
    held = BytesIO()
    image.save(held, "PNG")
    return base64.b64encode(held.getvalue()).decode("ascii")
