"""The contact sheet: one row per query with the images found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps, features

from polyglance.core.languages import language_name
from polyglance.data.images.read import read_image
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.gallery.fonts import font_for, name_missing_symbols, script_name
from polyglance.gallery.fonts.choose import needs_shaping
from polyglance.gallery.hit import Hit, path_text
from polyglance.gallery.sheets.file import save_sheet, sheet_format
from polyglance.gallery.sheets.wrap import wrap

CELL = 160
GAP = 14
MARGIN = 28
LABEL, TEXT = 280, 264
FRAME = 5
TEXT_SIZE = 19
SCORE_HEIGHT, NAME_HEIGHT, NAME_SIZE = 26, 18, 12
TITLE_HEIGHT = 62
ROW = CELL + SCORE_HEIGHT + NAME_HEIGHT + 20
COLUMNS = 10
"""Images per line; further images of a query go on further lines."""
MAX_PIXELS = 250_000_000
"""Largest sheet, 750 MB in memory."""

PAPER, INK, FAINT, RULE, MAT = "#ffffff", "#1c2430", "#6b7684", "#e3e7ec", "#eef1f4"
RIGHT = "#1a9c4b"

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A query with its results. Images in `correct` get a green frame."""

    text: str
    hits: Sequence[Hit]
    language: str | None = None
    correct: Collection[Path] = field(default_factory=frozenset)
    note: str | None = None
    image: Path | None = None
    """The image of an image query, instead of the text."""

    @property
    def lines(self) -> int:
        """Number of lines of images."""
        return max(1, -(-len(self.hits) // COLUMNS))


def write_sheet(
    path: Path, rows: Sequence[SheetRow], title: str | None = None, fonts: Sequence[Path] = ()
) -> None:
    """Draw the rows and write them atomically.

    Args:
        path: its extension determines the format.
        rows: queries with their results.
        title: a line above all rows.
        fonts: font files, tried before others.
    """
    sheet_format(path)
    save_sheet(path, draw_sheet(rows, title, fonts))


def undrawable_texts(texts: Sequence[str], fonts: Sequence[Path] = ()) -> list[str]:
    """The texts that no font can show; `fonts` are tried before others."""
    return [
        text
        for text in texts
        if font_for(name_missing_symbols(text, fonts), TEXT_SIZE, fonts) is None
    ]


def draw_sheet(
    rows: Sequence[SheetRow], title: str | None = None, fonts: Sequence[Path] = ()
) -> Image.Image:
    """Draw the rows; a text that no font can show is replaced by the name of its script.

    Args:
        rows: queries with their results, at least one.
        title: a line above all rows.
        fonts: font files, tried before others.
    """
    if not rows:
        raise PolyglanceError("a contact sheet needs at least one query")
    columns = min(COLUMNS, max(1, *(len(row.hits) for row in rows)))
    top = MARGIN + (TITLE_HEIGHT if title else 0)
    width, height = sheet_size(sum(row.lines for row in rows), columns, bool(title))
    if width * height > MAX_PIXELS:
        raise PolyglanceError(
            f"a contact sheet of {width}×{height} pixels is too large; lower --top, or use fewer "
            "queries at a time"
        )
    sheet = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        draw_text(draw, (MARGIN, MARGIN), title, 26, INK, fonts)
    line = 0
    for row in rows:
        y = top + line * ROW
        draw.line([(MARGIN, y), (width - MARGIN, y)], fill=RULE, width=1)
        if row.image is not None:
            draw_image(sheet, draw, row.image, (MARGIN, y + 10))
            draw_name(draw, path_text(row.image), (MARGIN, y + CELL + FRAME + 14), INK)
        else:
            _draw_label(draw, row, y + 10, fonts)
        for number, hit in enumerate(row.hits):
            below, column = divmod(number, COLUMNS)
            _draw_hit(sheet, draw, hit, cell_origin(line + below, column, bool(title)), row)
        line += row.lines
    return sheet


def sheet_size(rows: int, columns: int, titled: bool) -> tuple[int, int]:
    """Width and height in pixels.

    Args:
        rows: lines of images.
        columns: images of the longest line.
        titled: whether there is a title.
    """
    width = 2 * MARGIN + LABEL + FRAME + columns * (CELL + GAP)
    return width, 2 * MARGIN + (TITLE_HEIGHT if titled else 0) + rows * ROW


def cell_origin(row: int, column: int, titled: bool) -> tuple[int, int]:
    """Top left corner of an image's square.

    Args:
        row: the line of images, from 0.
        column: from 0.
        titled: whether the sheet has a title.
    """
    x = MARGIN + LABEL + GAP + column * (CELL + GAP)
    return x, MARGIN + (TITLE_HEIGHT if titled else 0) + row * ROW + 10


def _draw_hit(
    sheet: Image.Image, draw: ImageDraw.ImageDraw, hit: Hit, origin: tuple[int, int], row: SheetRow
) -> None:
    x, y = origin
    right = any(path in row.correct for path in hit.paths)
    draw_image(sheet, draw, hit.path, origin)
    if right:
        box = [x - FRAME, y - FRAME, x + CELL - 1 + FRAME, y + CELL - 1 + FRAME]
        draw.rectangle(box, outline=RIGHT, width=FRAME)
    font = font_for(f"{hit.score:.3f}", 14)
    place = (x + CELL // 2, y + CELL + FRAME + 4)
    draw.text(place, f"{hit.score:.3f}", RIGHT if right else FAINT, font, anchor="ma")
    draw_name(draw, hit.name, (x, y + CELL + SCORE_HEIGHT), FAINT)


def draw_name(draw: ImageDraw.ImageDraw, name: str, place: tuple[int, int], ink: str) -> None:
    """The file name below an image, shortened in the middle if it is too long.

    Args:
        draw: of the sheet.
        name: the path.
        place: top left corner; the name is centred below the cell.
        ink: text colour.
    """
    shown = "".join(c if c.isprintable() else "�" for c in name.rpartition("/")[2])
    font = font_for(shown, NAME_SIZE)
    if font is None:
        shown = shown.encode("ascii", "replace").decode()
        font = font_for(shown, NAME_SIZE)
    if draw.textlength(shown, font) > CELL:
        keep = next(
            (
                n
                for n in range(min(len(shown) // 2, 40), 0, -1)
                if draw.textlength(f"{shown[:n]}…{shown[-n:]}", font) <= CELL
            ),
            1,
        )
        shown = f"{shown[:keep]}…{shown[-keep:]}"
    draw.text((place[0] + CELL // 2, place[1]), shown, ink, font, anchor="ma")


def draw_image(
    sheet: Image.Image, draw: ImageDraw.ImageDraw, path: Path, origin: tuple[int, int]
) -> None:
    """Draw an image in its square.

    Args:
        sheet: to paste it on.
        draw: of the sheet.
        path: the image's file.
        origin: top left corner of the square.
    """
    x, y = origin
    try:
        image = ImageOps.contain(read_image(path, CELL), (CELL, CELL), Image.Resampling.LANCZOS)
    except ImageProblem:  # readable during the search, but perhaps deleted since
        image = Image.new("RGB", (CELL, CELL), MAT)
    draw.rectangle([x, y, x + CELL - 1, y + CELL - 1], fill=MAT)
    sheet.paste(image, (x + (CELL - image.width) // 2, y + (CELL - image.height) // 2))


def _draw_label(draw: ImageDraw.ImageDraw, row: SheetRow, y: int, fonts: Sequence[Path]) -> None:
    """Language, query and note, from the top of the row downwards."""
    if row.language is not None:
        name = language_name(row.language)
        shown = row.language if name == row.language else f"{name} · {row.language}"
        draw_text(draw, (MARGIN, y), shown, 14, FAINT, fonts)
        y += 24
    size = TEXT_SIZE
    text, ink = name_missing_symbols(row.text, fonts), INK
    font = font_for(text, size, fonts)
    if font is None:
        text, ink, size = f"({script_name(row.text)} text: no font available)", FAINT, 15
        font = font_for(text, size)
    lines = 4 if row.note else 6
    y = draw_lines(draw, (MARGIN, y), text, font, size, ink, lines, language=row.language)
    if row.note:
        draw_lines(draw, (MARGIN, y + 6), row.note, font_for(row.note, 14, fonts), 14, FAINT, 2)


def draw_lines(
    draw: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    font: Font | None,
    size: int,
    ink: str,
    most: int,
    width: int = TEXT,
    language: str | None = None,
) -> int:
    """Draw wrapped lines and return where they end; Hebrew and Arabic are right-aligned.

    Args:
        draw: of the sheet.
        place: top left corner.
        text: of any length.
        font: that can show it.
        size: font size.
        ink: text colour.
        most: largest number of lines.
        width: of a line.
        language: of the text, if known.
    """
    left, y = place
    # The language selects the variants of Chinese characters, if Pillow supports it.
    code = language if features.check("raqm") else None
    from_right = needs_shaping(text) and script_name(text) in {"Arabic", "Hebrew"}
    lines = wrap(text, width, lambda part: draw.textlength(part, font, language=code), most)
    for line in lines:
        x, anchor = (left + width, "rs") if from_right else (left, "ls")
        draw.text((x, y + size), line, ink, font, anchor=anchor, language=code)
        y += round(size * 1.4)
    return y


def draw_text(
    draw: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    size: int,
    ink: str,
    fonts: Sequence[Path],
) -> None:
    """Draw one line, or nothing if no font can show it.

    Args:
        draw: of the sheet.
        place: top left corner.
        text: of one line.
        size: font size.
        ink: text colour.
        fonts: font files, tried before others.
    """
    font = font_for(text, size, fonts)
    if font is not None:
        draw.text(place, text, ink, font)
