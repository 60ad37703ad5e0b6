import pytest
from PIL import Image, ImageChops, ImageColor

from polyglance.errors import PolyglanceError
from polyglance.gallery import Hit, fonts
from polyglance.gallery.sheets.file import save_sheet
from polyglance.gallery.sheets.sheet import (
    CELL,
    FRAME,
    GAP,
    MARGIN,
    MAT,
    PAPER,
    RIGHT,
    SCORE_HEIGHT,
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


def test_more_images_than_columns_stand_on_further_lines(hits):
    many = [hits[0]] * 25 + [hits[2]]
    sheet = draw_sheet([SheetRow("many", many), SheetRow("one", hits[1:2])])
    assert sheet.size == sheet_size(4, 10, False)
    assert [centre(sheet, 2, column) for column in (0, 4, 5, 6)] == [
        *map(rgb, ("red", "red", "blue", PAPER))
    ]
    assert centre(sheet, 3, 0) == rgb("lime")
    large = draw_sheet([SheetRow("300", [hits[0]] * 300)])
    assert large.size == sheet_size(30, 10, False)


def test_a_sheet_that_no_memory_holds_is_refused(hits):
    with pytest.raises(PolyglanceError, match="too large; lower --top"):
        draw_sheet([SheetRow("x", [hits[0]] * 100_000)])


def test_file_names_stand_below_the_images(hits, tmp_path):
    def below(name):
        hits[0].path.rename(tmp_path / name)
        sheet = draw_sheet([SheetRow("x", [Hit(tmp_path / name, 0.5, 1)])])
        (tmp_path / name).rename(hits[0].path)
        x, y = cell_origin(0, 0, False)
        return sheet.crop((x - GAP, y + CELL + SCORE_HEIGHT, x + CELL + GAP, sheet.height))

    first, other = below("a.png"), below("b.png")
    assert ImageChops.difference(first, other).getbbox()
    for name in ("long " * 30 + ".png", "new\nline.png", "\x1b[31m.png", "कुत्ता.png", "犬.png"):
        crop = below(name)
        left, _, right, _ = ImageChops.difference(
            crop, Image.new("RGB", crop.size, PAPER)
        ).getbbox()
        assert left >= GAP - 2
        assert right <= GAP + CELL + 2


def test_an_image_that_was_asked_with_stands_on_the_left(hits):
    sheet = draw_sheet([SheetRow("red.png", hits[1:], image=hits[0].path)])
    assert sheet.getpixel((MARGIN + CELL // 2, cell_origin(0, 0, False)[1] + CELL // 2)) == (
        rgb("red")
    )


@pytest.mark.parametrize(
    ("name", "form"),
    [("s.png", "PNG"), ("s.JPG", "JPEG"), ("s.webp", "WEBP"), ("s.tif", "TIFF"), ("s", "PNG")],
)
def test_the_name_says_the_format(hits, tmp_path, name, form):
    write_sheet(tmp_path / name, [SheetRow("x", hits)])
    with Image.open(tmp_path / name) as image:
        assert (image.format, image.size) == (form, sheet_size(1, 3, False))


def test_a_pdf_is_a_pdf(hits, tmp_path):
    write_sheet(tmp_path / "s.pdf", [SheetRow("x", hits)])
    data = (tmp_path / "s.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert b"/Page" in data
    assert data.rstrip().endswith(b"%%EOF")


def test_other_formats_are_refused_before_the_work(hits, tmp_path):
    with pytest.raises(PolyglanceError, match=r"s\.svg: .* as '\.svg'; use \.png, \.jpg"):
        write_sheet(tmp_path / "s.svg", [SheetRow("x", hits)])
    with pytest.raises(PolyglanceError, match=r"too many for WEBP; use \.png"):
        save_sheet(tmp_path / "s.webp", Image.new("RGB", (10, 20_000)))
    assert not list(tmp_path.glob("s.*"))


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
