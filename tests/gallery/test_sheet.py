import pytest
from PIL import Image, ImageChops, ImageColor

from polyglance.errors import PolyglanceError
from polyglance.gallery import Hit, fonts
from polyglance.gallery.sheet import (
    CELL,
    FRAME,
    MARGIN,
    MAT,
    PAPER,
    RIGHT,
    SheetRow,
    cell_origin,
    draw_sheet,
    sheet_size,
    write_sheet,
)


def rgb(name):
    return ImageColor.getrgb(name)


@pytest.fixture
def hits(tmp_path):
    """Three pictures: red and square, green and wide, blue and tall."""
    found = []
    for colour, size in [("red", (50, 50)), ("lime", (60, 20)), ("blue", (20, 400))]:
        path = tmp_path / f"{colour}.png"
        Image.new("RGB", size, colour).save(path)
        found.append(Hit(path, 0.5, len(found) + 1))
    return found


def centre(sheet, row, column, titled=False):
    x, y = cell_origin(row, column, titled)
    return sheet.getpixel((x + CELL // 2, y + CELL // 2))


@pytest.mark.parametrize("title", [None, "Title"])
def test_rows_of_pictures(hits, title):
    rows = [
        SheetRow("a dog", hits, "en"),
        SheetRow("ein Hund", hits[::-1], "de"),
        SheetRow("x", hits[:1]),
    ]
    sheet = draw_sheet(rows, title)
    assert sheet.size == sheet_size(3, 3, bool(title))
    shown = [[centre(sheet, row, column, bool(title)) for column in range(3)] for row in range(3)]
    red, lime, blue, paper = map(rgb, ("red", "lime", "blue", PAPER))
    assert shown == [[red, lime, blue], [blue, lime, red], [red, paper, paper]]


def test_pictures_are_whole_on_a_mat(hits):
    sheet = draw_sheet([SheetRow("x", hits)])
    x, y = cell_origin(0, 1, False)
    assert sheet.getpixel((x, y)) == rgb(MAT)
    assert sheet.getpixel((x, y + CELL // 2)) == rgb("lime")
    assert sheet.getpixel((x + CELL - 1, y + CELL // 2)) == rgb("lime")
    x, y = cell_origin(0, 2, False)
    assert sheet.getpixel((x, y)) == rgb(MAT)
    assert sheet.getpixel((x + CELL // 2, y)) == rgb("blue")


def test_only_the_right_picture_is_framed(hits):
    sheet = draw_sheet([SheetRow("x", hits, correct={hits[1].path})])
    corners = [cell_origin(0, column, False) for column in range(3)]
    frame = [sheet.getpixel((x - FRAME + 1, y - FRAME + 1)) for x, y in corners]
    assert frame == [rgb(PAPER), rgb(RIGHT), rgb(PAPER)]


def test_label_holds_language_text_and_note(hits):
    def label(*row):
        sheet = draw_sheet([SheetRow(*row)])
        return sheet.crop((0, 40, cell_origin(0, 0, False)[0] - FRAME, sheet.height))

    plain = label("dog", hits)
    variants = [label("cat", hits), label("dog", hits, "en"), label("dog", hits, None, (), "rank")]
    assert all(ImageChops.difference(plain, other).getbbox() for other in variants)
    assert len({other.tobytes() for other in variants}) == 3


def test_long_texts_stay_left_of_the_pictures(hits):
    empty = draw_sheet([SheetRow("", hits)])
    for text in ("word " * 100, "w" * 300, "狗" * 200, "كلب أسود " * 40):
        changed = ImageChops.difference(
            empty, draw_sheet([SheetRow(text, hits, "zh", (), "note " * 40)])
        )
        left, top, right, bottom = changed.getbbox()
        assert left >= 0
        assert right <= cell_origin(0, 0, False)[0]
        assert top >= cell_origin(0, 0, False)[1]
        assert bottom <= empty.height - MARGIN


def test_a_text_without_a_font_is_named_not_drawn_as_boxes(hits, monkeypatch):
    monkeypatch.setattr(fonts.choose, "system_fonts", tuple)
    unshown = [draw_sheet([SheetRow(text, hits, "hi")]) for text in ("कुत्ता", "बिल्ली")]
    assert unshown[0].tobytes() == unshown[1].tobytes()
    assert ImageChops.difference(unshown[0], draw_sheet([SheetRow("", hits, "hi")])).getbbox()


def test_a_picture_that_has_gone_leaves_its_place(hits):
    hits[0].path.unlink()
    sheet = draw_sheet([SheetRow("x", hits)])
    assert centre(sheet, 0, 0) == rgb(MAT)
    assert centre(sheet, 0, 1) == rgb("lime")


def test_written_as_png_and_nothing_beside_it(hits, tmp_path):
    path = tmp_path / "new" / "sheet.png"
    write_sheet(path, [SheetRow("x", hits)], "Title")
    assert [file.name for file in path.parent.iterdir()] == ["sheet.png"]
    with Image.open(path) as image:
        assert (image.format, image.size) == ("PNG", sheet_size(1, 3, True))
        assert (
            ImageChops.difference(image, draw_sheet([SheetRow("x", hits)], "Title")).getbbox()
            is None
        )


def test_no_rows():
    with pytest.raises(PolyglanceError, match="at least one query"):
        draw_sheet([])
