"""The sheet of a caption search: each image with the captions found beside it."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from polyglance.errors import PolyglanceError
from polyglance.gallery.captions.hit import CaptionHit, ImageResult
from polyglance.gallery.fonts import font_for, name_missing_symbols, script_name
from polyglance.gallery.sheets.file import save_sheet, sheet_format
from polyglance.gallery.sheets.sheet import (
    CELL,
    FAINT,
    GAP,
    INK,
    MARGIN,
    PAPER,
    RIGHT,
    RULE,
    TITLE_HEIGHT,
    draw_image,
    draw_lines,
    draw_text,
)

WIDTH, SIZE, MARK, NUMBER = 620, 15, 10, 62
"""Width of the caption column, font size, size of ticks and crosses, and left margin."""
LINES, LEADING, WRONG = 2, 1.4, "#c4342d"
"""Largest number of lines per caption, line spacing, and colour of a cross."""


def write_caption_sheet(
    path: Path, results: Sequence[ImageResult], title: str | None = None, fonts: Sequence[Path] = ()
) -> None:
    """Draw the results and write them atomically.

    Args:
        path: its extension determines the format.
        results: images with the captions found.
        title: a line above all rows.
        fonts: font files, tried before others.
    """
    sheet_format(path)
    save_sheet(path, draw_caption_sheet(results, title, fonts))


def draw_caption_sheet(
    results: Sequence[ImageResult], title: str | None = None, fonts: Sequence[Path] = ()
) -> Image.Image:
    """One row per image: the image, and its captions with a tick or a cross.

    Args:
        results: images with the captions found, at least one.
        title: a line above all rows.
        fonts: font files, tried before others.
    """
    if not results:
        raise PolyglanceError("a sheet needs at least one image")
    heights = [row_height(len(result.hits)) for result in results]
    top = MARGIN + (TITLE_HEIGHT if title else 0)
    width = 2 * MARGIN + CELL + GAP + NUMBER + WIDTH
    sheet = Image.new("RGB", (width, top + sum(heights) + MARGIN), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        draw_text(draw, (MARGIN, MARGIN), title, 26, INK, fonts)
    for result, height in zip(results, heights, strict=True):
        draw.line([(MARGIN, top), (width - MARGIN, top)], fill=RULE, width=1)
        draw_image(sheet, draw, result.path, (MARGIN, top + GAP))
        for number, hit in enumerate(result.hits):
            _draw_caption(draw, hit, top + GAP + number * _caption_height(), fonts)
        top += height
    return sheet


def row_height(captions: int) -> int:
    """Height in pixels of an image with this many captions beside it."""
    return 2 * GAP + max(CELL, captions * _caption_height())


def _caption_height() -> int:
    return LINES * round(SIZE * LEADING) + 6


def _draw_caption(
    draw: ImageDraw.ImageDraw, hit: CaptionHit, y: int, fonts: Sequence[Path]
) -> None:
    x = MARGIN + CELL + GAP
    draw_text(draw, (x, y), f"{hit.rank}.", SIZE, FAINT, fonts)
    if hit.correct is not None:
        _draw_mark(draw, (x + 34, y + 5), hit.correct)
    text, ink = name_missing_symbols(hit.text, fonts), INK
    font = font_for(text, SIZE, fonts)
    if font is None:
        text, ink = f"({script_name(hit.text)} text: no font available)", FAINT
        font = font_for(text, SIZE)
    draw_lines(draw, (x + NUMBER, y), text, font, SIZE, ink, LINES, WIDTH, hit.language)


def _draw_mark(draw: ImageDraw.ImageDraw, place: tuple[int, int], correct: bool) -> None:
    """A tick or a cross, drawn as lines, as not every font has them."""
    x, y = place
    if correct:
        points = [(x, y + MARK // 2), (x + MARK // 3, y + MARK), (x + MARK, y)]
        draw.line(points, fill=RIGHT, width=3)
        return
    draw.line([(x, y), (x + MARK, y + MARK)], fill=WRONG, width=3)
    draw.line([(x, y + MARK), (x + MARK, y)], fill=WRONG, width=3)
