import pytest
from PIL import features

from polyglance.data.generated.captions import caption
from polyglance.data.generated.scenes import make_scene
from polyglance.errors import PolyglanceError
from polyglance.search.fonts import can_show, choose, font_for
from polyglance.search.fonts.choose import needs_shaping
from polyglance.search.fonts.find import own_faces, system_faces

needs_raqm = pytest.mark.skipif(not features.check("raqm"), reason="Pillow without libraqm")


@pytest.fixture
def no_system(monkeypatch):
    """A machine without any fonts of its own."""
    monkeypatch.setattr(choose, "system_faces", lambda _text: iter(()))


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


@pytest.mark.usefixtures("no_system")
@pytest.mark.parametrize("text", ["कुत्ता", "สุนัข", "龘", "dog 龘", "\U0001f436"])
def test_a_text_that_no_font_has_gets_none(text):
    assert font_for(text, 20) is None


def test_missing_glyphs_are_seen():
    dejavu, subset = (choose._open(face, 20) for face in own_faces())
    assert can_show(dejavu, "Příliš žluťoučký Hund, собака 1 ½")
    assert not can_show(dejavu, "a 狗")
    assert can_show(subset, "一只狗 dog")
    assert not can_show(subset, "Příliš")


def test_scripts_that_need_shaping():
    assert needs_shaping("ein كلب")
    assert needs_shaping("कुत्ता")
    assert not needs_shaping("Příliš собака 狗 개 いぬ")


def test_arabic_without_shaping_is_not_drawn(monkeypatch):
    monkeypatch.setattr(choose.features, "check", lambda name: name != "raqm")
    assert font_for("كلب", 20) is None
    assert font_for("собака", 20) is not None


def test_a_named_font_comes_first(tmp_path):
    subset = list(own_faces())[-1][0]
    assert font_for("dog", 20, [subset]).path == str(subset)
    bad = tmp_path / "bad.ttf"
    bad.write_bytes(b"no font")
    with pytest.raises(PolyglanceError, match=r"bad\.ttf: not a font"):
        font_for("dog", 20, [bad])


def test_system_fonts_exist_and_none_draws_boxes_for_all():
    faces = list(system_faces("dog"))
    assert all(path.is_file() for path, _ in faces)
    assert not [path for path, _ in faces if "lastresort" in path.name.lower()]
