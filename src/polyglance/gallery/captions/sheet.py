"""The sheet of a search from images to texts: an image, and beside it the captions it finds."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from polyglance.errors import PolyglanceError
from polyglance.gallery.captions.hit import CaptionHit, ImageResult
from polyglance.gallery.fonts import font_for, script_name, spelt_out
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
"""Of the captions' column, their letters, a tick or cross, and what stands before a caption."""
LINES, LEADING, WRONG = 2, 1.4, "#c4342d"
"""Lines of a caption at most, their distance in letters, and the colour of a cross."""


def write_caption_sheet(
    path: Path, results: Sequence[ImageResult], title: str | None = None, fonts: Sequence[Path] = ()
) -> None:
    """Draw the results and write them in the format that the name says, atomically.

    Args:
        path: where to.
        results: images with the captions they found.
        title: a line above all rows.
        fonts: font files, tried before others.
    """
    sheet_format(path)
    save_sheet(path, draw_caption_sheet(results, title, fonts))


def draw_caption_sheet(
    results: Sequence[ImageResult], title: str | None = None, fonts: Sequence[Path] = ()
) -> Image.Image:
    """A row for each image: the image, and its captions with a tick or a cross.

    Args:
        results: images with the captions they found, one at least.
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
    """Pixels of an image with so many captions beside it."""
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
    text, ink = spelt_out(hit.text, fonts), INK
    font = font_for(text, SIZE, fonts)
    if font is None:
        text, ink = f"({script_name(hit.text)} text: no font for it here)", FAINT
        font = font_for(text, SIZE)
    draw_lines(draw, (x + NUMBER, y), text, font, SIZE, ink, LINES, WIDTH, hit.language)


def _draw_mark(draw: ImageDraw.ImageDraw, place: tuple[int, int], correct: bool) -> None:
    """A tick or a cross, drawn: not every font has them."""
    x, y = place
    if correct:
        points = [(x, y + MARK // 2), (x + MARK // 3, y + MARK), (x + MARK, y)]
        draw.line(points, fill=RIGHT, width=3)
        return
    draw.line([(x, y), (x + MARK, y + MARK)], fill=WRONG, width=3)
    draw.line([(x, y + MARK), (x + MARK, y)], fill=WRONG, width=3)
