"""The model in the package: what it promises, on texts and on a photograph that a package has."""

from pathlib import Path

import numpy as np
import pytest

import polyglance
from polyglance.core.shipped import PLACE
from polyglance.core.trust import refuse_foreign_feature
from polyglance.errors import PolyglanceError
from polyglance.runtime.opening import is_exported
from polyglance.vision.networks.int8 import simplified
from polyglance.vision.networks.onnx_network import network_name, open_onnx

pytestmark = pytest.mark.skipif(not is_exported(PLACE), reason="this copy carries no model")
MEGABYTES = 64


@pytest.fixture(scope="module")
def model():
    return polyglance.load()


def nearest(model, text, others):
    query, *rest = np.asarray(model.encode_text([text, *others]))
    return others[int(np.argmax(np.stack(rest) @ query))]


def test_it_fits_into_the_package():
    size = sum(path.stat().st_size for path in PLACE.rglob("*") if path.is_file())
    assert size <= MEGABYTES * 1e6


def test_no_path_of_a_machine_is_in_it():
    text = (PLACE / "manifest.json").read_text("utf-8")
    assert "/root" not in text
    assert "/work" not in text


def test_embeddings_have_length_one(model):
    found = np.asarray(model.encode_text(["two dogs", "двое собак", "x"]))
    assert found.shape == (3, 512)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "zwei Hunde im Schnee",
        "deux chiens dans la neige",
        "雪地里的两只狗",
        "due cani nella neve",
        "雪の中の二匹の犬",
        "две собаки в снегу",
        "눈 속의 개 두 마리",
        "bir karda iki köpek",
        "dva psi ve sněhu",
        "बर्फ में दो कुत्ते",
    ],
)
def test_a_sentence_is_near_its_english_translation(model, text):
    others = ["a woman cooking in a kitchen", "two dogs in the snow", "two cats on a sofa"]
    assert nearest(model, text, others) == "two dogs in the snow"


@pytest.mark.parametrize(
    ("text", "meaning", "other"),
    [
        ("Angeln am See", "fishing at a lake", "angels by the sea"),
        ("une main", "a hand", "a main road"),
        ("ropa al sol", "clothes in the sun", "rope in the sun"),
        ("pes", "a dog", "a foot"),
    ],
)
def test_homographs_that_are_read_in_their_own_language(model, text, meaning, other):
    assert nearest(model, text, [meaning, other]) == meaning


@pytest.mark.parametrize("text", ["cat", "Katze", "猫", "gatto", "kedi", "고양이", "แมว"])
def test_a_photograph_is_found_by_words_of_many_languages(model, text):
    folder = Path(pytest.importorskip("skimage.data").__file__).parent
    names = ["coffee.png", "chelsea.png", "brick.png"]
    images = np.asarray(model.encode_images([folder / name for name in names]))
    assert names[int(np.argmax(images @ np.asarray(model.encode_text([text]))[0]))] == "chelsea.png"


def test_the_whole_image_is_used(model):
    """What lies at the ends of a wide picture changes its embedding."""
    wide = np.full((100, 400, 3), 128, np.uint8)
    ends = wide.copy()
    ends[:, :120] = (30, 160, 40)
    one, other = model.encode_images([wide, ends], show_progress=False)
    assert model.images.preprocessing.whole
    assert one @ other < 0.98


def test_runs_tuned_from_it_need_no_trust():
    refuse_foreign_feature("onnx:base@123456789abc/global", "model.json")
    with pytest.raises(PolyglanceError, match="outside the model's folder"):
        refuse_foreign_feature("onnx:/tmp/backbone.onnx@123456789abc/global", "model.json")


def test_a_model_tuned_on_another_network_is_refused():
    assert open_onnx(network_name(PLACE).removeprefix("onnx:")).path == PLACE / "backbone.onnx"
    with pytest.raises(PolyglanceError, match="is not the network that the model was trained with"):
        open_onnx("base@0123456789ab")


def test_onnxruntime_merges_the_padding_of_the_network():
    onnx = pytest.importorskip("onnx")
    model = simplified((PLACE / "backbone.onnx").read_bytes())
    nodes = {node.op_type for node in onnx.load_from_string(model).graph.node}
    assert nodes == {"Conv", "Clip", "Add"}
