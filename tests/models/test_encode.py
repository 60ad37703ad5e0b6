"""What `encode_text` and `encode_images` take, and what they tell of what they cannot read."""

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import (
    PolyglanceError,
    UnknownLanguageWarning,
    UnknownWordsWarning,
    UnreadableImageWarning,
)
from polyglance.evaluation import evaluate
from polyglance.models import Model
from polyglance.recipes import load_recipe
from tests.gallery.conftest import Colours
from tests.models.small import table_model

SMALL = {"text.embedder.word_dim": 6, "text.encoder.hidden": 8, "joint.dim": 8}
PIXELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Model:
    monkeypatch.setattr(
        "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: Colours()
    )
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    return table_model(load_recipe("nce", SMALL), ["a", "red", "dog", "hund"], 3, ["de", "en"])


@pytest.fixture
def png(tmp_path: Path) -> Path:
    Image.fromarray(PIXELS).save(tmp_path / "a.png")
    return tmp_path / "a.png"


def test_known_words_make_no_warning(model: Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.encode_text(["a red dog", "hund"])
        model.encode_text("a dog", "en")


def test_unknown_words_are_a_warning(model: Model) -> None:
    with pytest.warns(UnknownWordsWarning, match=r"not know 2 of 5 words: zebra, qux$") as told:
        model.encode_text(["a red zebra", "qux dog"])
    assert told[0].filename == __file__


def test_texts_of_unknown_words_alone_are_named(model: Model) -> None:
    with pytest.warns(UnknownWordsWarning, match=r"no word of 'zebra', 'qux', so their") as it:
        found = model.encode_text(["zebra", "a dog", "qux"])
    assert len(it) == 1
    np.testing.assert_array_equal(found[0], found[2])


def test_many_unknown_words_are_not_all_listed(model: Model) -> None:
    with pytest.warns(UnknownWordsWarning, match=r"w0, w1, w2, w3, w4 and 95 more;") as told:
        model.encode_text([f"w{i}" for i in range(100)])
    assert len(str(told[0].message)) < 300


def test_an_unknown_language_is_a_warning(model: Model) -> None:
    with pytest.warns(UnknownLanguageWarning, match=r"language 'xx' \(its languages: de, en\)"):
        model.encode_text("a dog", "xx")


def test_unknown_words_can_be_asked_for(model: Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.unknown_words(["a red zebra", "a dog"]) == [("zebra",), ()]
        assert model.unknown_words("Zebra", "en") == [("zebra",)]


def test_an_evaluation_does_not_warn_of_words(model: Model, png: Path, tmp_path: Path) -> None:
    from polyglance.data import load_dataset

    table = tmp_path / "t.csv"
    table.write_text("path,caption,language,split\na.png,a zebra,en,test\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(model, load_dataset(table), "test", bootstrap=0, show_progress=False)


def test_all_forms_of_one_image_have_one_embedding(model: Model, png: Path) -> None:
    data = png.read_bytes()
    wanted = model.encode_images(str(png))
    assert wanted.shape == (1, 8)
    forms = [
        png,
        data,
        bytearray(data),
        memoryview(data),
        Image.open(png),
        Image.fromarray(PIXELS),
        PIXELS,
        PIXELS / 255,
        np.dstack([PIXELS, np.full((20, 30), 255, np.uint8)]),
    ]
    for form in forms:
        np.testing.assert_allclose(model.encode_images(form), wanted, atol=1e-6)
    together = model.encode_images(iter(forms))
    np.testing.assert_allclose(together, np.repeat(wanted, len(forms), axis=0), atol=1e-6)


def test_arrays_of_several_images(model: Model) -> None:
    several = np.stack([PIXELS, 255 - PIXELS])
    found = model.encode_images(several)
    assert found.shape == (2, 8)
    np.testing.assert_allclose(found[1:], model.encode_images(255 - PIXELS), atol=1e-6)


def test_grey_and_turned_images_are_read_as_from_a_file(model: Model, tmp_path: Path) -> None:
    grey = PIXELS[:, :, 0]
    three = model.encode_images(np.dstack([grey] * 3))
    np.testing.assert_allclose(model.encode_images(grey), three, atol=1e-6)
    np.testing.assert_allclose(model.encode_images(grey[:, :, None]), three, atol=1e-6)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, "PNG", exif=exif)
    turned = model.encode_images(Image.open(io.BytesIO(buffer.getvalue())))
    np.testing.assert_allclose(turned, model.encode_images(buffer.getvalue()), atol=1e-6)


def test_skipped_images_are_rows_of_nan(model: Model, png: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    given = [png, tmp_path / "broken.jpg", b"neither", PIXELS]
    with pytest.raises(PolyglanceError, match=r"broken\.jpg: not an image"):
        model.encode_images(given)
    with pytest.raises(PolyglanceError, match=r"^image 1: not an image"):
        model.encode_images([b"neither"])
    with pytest.warns(UnreadableImageWarning) as told:
        found = model.encode_images(given, on_error="skip")
    assert [str(one.message).split(": ")[0] for one in told] == [
        str(tmp_path / "broken.jpg"),
        "image 3",
    ]
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, False]
    np.testing.assert_allclose(found[0], found[3], atol=1e-6)


def test_nothing_at_all(model: Model) -> None:
    assert model.encode_images([]).shape == (0, 8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "'' is not the path"),
        (7, "int is not an image"),
        ([None], "image 1: NoneType is not an image"),
        (np.zeros((3, 20, 30), np.uint8), r"shape \[3, 20, 30\] is not an image"),
        (np.zeros((0, 4, 3), np.uint8), r"shape \[0, 4, 3\]"),
        (np.full((4, 4), 300), "these are int64 from 300 to 300"),
        (np.full((4, 4), np.nan), "these are float64 from nan"),
    ],
)
def test_input_that_is_no_image_is_refused(model: Model, given: object, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        model.encode_images(given)  # type: ignore[arg-type]


def test_an_unknown_value_of_on_error_is_refused(model: Model, png: Path) -> None:
    with pytest.raises(PolyglanceError, match="on_error='ignore': must be"):
        model.encode_images(png, on_error="ignore")  # type: ignore[arg-type]
