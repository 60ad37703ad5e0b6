import pytest
from PIL import features

from polyglance.cli.demo_queries import GENERAL_QUERIES, PHOTO_QUERIES
from polyglance.core.languages import language_name
from polyglance.data.generated.scenes import make_scene
from polyglance.data.generated.store import caption
from polyglance.errors import PolyglanceError
from polyglance.gallery.fonts import choose, find, font_for, has_glyphs
from polyglance.gallery.fonts.choose import needs_shaping
from polyglance.gallery.fonts.find import SUBSETS, own_fonts, system_fonts

needs_raqm = pytest.mark.skipif(not features.check("raqm"), reason="Pillow without libraqm")


@pytest.fixture
def no_system(monkeypatch):
    """A machine without any fonts of its own."""
    monkeypatch.setattr(choose, "system_fonts", tuple)


@needs_raqm
@pytest.mark.usefixtures("no_system")
def test_every_caption_of_the_generated_world_can_be_shown():
    characters: dict[str, set[str]] = {}
    for index in range(600):
        for code, kinds in caption(make_scene(1, index), 1, index).items():
            texts = [text for group in kinds.values() for text in group]
            characters.setdefault(code, set()).update(*texts)
    assert len(characters) == 10
    hidden = [code for code, found in characters.items() if not font_for("".join(found), 20)]
    assert hidden == []


@needs_raqm
@pytest.mark.usefixtures("no_system")
def test_the_demos_queries_can_be_shown_without_any_other_font(monkeypatch):
    monkeypatch.setattr(find, "find_spec", lambda _name: None)  # no matplotlib, no DejaVu
    texts = [text for _, text, *_ in (*PHOTO_QUERIES, *GENERAL_QUERIES)]
    assert [text for text in texts if font_for(text, 20) is None] == []
    names = [language_name(code) for code, *_ in (*PHOTO_QUERIES, *GENERAL_QUERIES)]
    assert [name for name in names if font_for(f"{name} · xx", 14) is None] == []


@pytest.mark.usefixtures("no_system")
@pytest.mark.parametrize("text", ["कुत्ता", "สุนัข", "龘", "dog 龘", "\U0001f436"])
def test_a_text_that_no_font_has_gets_none(text):
    assert font_for(text, 20) is None


def test_missing_glyphs_are_seen():
    dejavu, _, subset, *_ = (choose._open(path, 20) for path in own_fonts())
    assert has_glyphs(dejavu, "Příliš žluťoučký Hund, собака 1 ½")
    assert not has_glyphs(dejavu, "a 狗")
    assert has_glyphs(subset, "一只狗 dog")
    assert not has_glyphs(subset, "Příliš")


def test_scripts_that_need_shaping():
    assert needs_shaping("ein كلب")
    assert needs_shaping("कुत्ता")
    assert not needs_shaping("Příliš собака 狗 개 いぬ")


def test_arabic_without_shaping_is_not_drawn(monkeypatch):
    monkeypatch.setattr(choose.features, "check", lambda name: name != "raqm")
    assert font_for("كلب", 20) is None
    assert font_for("собака", 20) is not None


def test_a_named_font_comes_first(tmp_path):
    subset = next(path for path in own_fonts() if path.suffix == ".otf")
    assert font_for("dog", 20, [subset]).path == str(subset)
    bad = tmp_path / "bad.ttf"
    bad.write_bytes(b"no font")
    with pytest.raises(PolyglanceError, match=r"bad\.ttf: not a readable font"):
        font_for("dog", 20, [bad])


@pytest.fixture
def installed(monkeypatch):
    """Sets the fonts that a system has."""

    def install(*names):
        monkeypatch.setattr("matplotlib.font_manager.findSystemFonts", lambda: list(names))
        find.system_fonts.cache_clear()
        return [path.name for path in system_fonts()]

    yield install
    find.system_fonts.cache_clear()


def test_plain_fonts_come_first_and_none_draws_boxes_for_all(installed):
    others = ["LastResort.otf", "Arial Bold.ttf", "NotoSerif.ttf"]
    plain = ["NotoSans-Regular.ttf", "arial.ttf", "Arial Bold.ttf", "NotoSerif.ttf"]
    assert installed(*others, "NotoSans-Regular.ttf", "arial.ttf") == plain


def test_an_installed_font_shows_what_the_own_ones_lack(installed, monkeypatch):
    subset = next(path for path in own_fonts() if path.suffix == ".otf")
    monkeypatch.setattr(choose, "own_fonts", tuple)
    installed("/no/such/font.ttf", str(subset))
    assert font_for("狗", 20).path == str(subset)
    assert font_for("龘", 20) is None


def test_missing_matplotlib_is_an_error(monkeypatch):
    monkeypatch.setattr(find, "find_spec", lambda _name: None)
    find.system_fonts.cache_clear()
    with pytest.warns(UserWarning, match="pip install matplotlib"):
        assert font_for("龘", 20) is None
    find.system_fonts.cache_clear()
    assert tuple(path.name for path in own_fonts()) == SUBSETS
    assert all(path.is_file() for path in own_fonts())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a dog", "a dog"),
        ("a dog \U0001f436", "a dog [dog face]"),
        ("\U0001f436\U0001f3fd", "[dog face]"),
        ("\U0001f469\u200d\U0001f680 ok", "[woman][rocket] ok"),
        ("☀ sun", "☀ sun"),
    ],
)
def test_emoji_without_a_font_are_spelt_out(monkeypatch, text, shown):
    monkeypatch.setattr(choose, "system_fonts", tuple)
    assert choose.name_missing_symbols(text) == shown
    assert choose.font_for(shown, 19) is not None


def test_a_text_of_letters_without_a_font_stays(monkeypatch):
    monkeypatch.setattr(choose, "system_fonts", tuple)
    assert choose.name_missing_symbols("कुत्ता \U0001f436") == "कुत्ता \U0001f436"
