"""Images as queries: what is nearest to an image."""

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.gallery import search


def cosines(model, pictures, query):
    images, other = model.encode_images(pictures), model.encode_images(query)[0]
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    return images @ (other / np.linalg.norm(other))


@pytest.mark.parametrize("recipe", ["nce", "order"])
@pytest.mark.parametrize("kind", [str, None, bytes, "pillow", "array"])
def test_an_image_finds_the_nearest(make_model, pictures, recipe, kind):
    model, path = make_model(recipe), pictures[4]
    given = {
        str: str(path),
        None: path,
        bytes: path.read_bytes(),
        "pillow": Image.open(path),
        "array": np.asarray(Image.open(path)),
    }[kind]
    found = search(model, pictures, given, top=5)
    wanted = cosines(model, pictures, path)
    order = sorted(range(len(pictures)), key=lambda i: -round(float(wanted[i]), 6))
    assert order[0] == 4
    named = kind in (str, None)  # a file of the gallery is not among its own results
    order = order[1:6] if named else order[:5]
    assert [hit.path for hit in found[0].hits] == [pictures[i] for i in order]
    if not named:
        assert found[0].hits[0].score == pytest.approx(1, abs=1e-5)
    assert [hit.score for hit in found[0].hits] == pytest.approx(wanted[order], abs=2e-6)


def test_images_and_texts_together(model, pictures, tmp_path):
    found = search(model, pictures, ["red dog", pictures[0], "hund"], top=2)
    assert [one.query.text for one in found] == ["red dog", str(pictures[0]), "hund"]
    assert found[0].hits == search(model, pictures, "red dog", top=2)[0].hits
    assert found.write_sheet(tmp_path / "s.png") == []


def test_an_image_that_cannot_be_read_is_a_problem_of_its_own(model, pictures, tmp_path):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no image")
    with pytest.warns(PolyglanceWarning) as told:
        found = search(model, pictures, [str(broken), "gone.jpg", "dog"], top=2)
    assert [len(one.hits) for one in found] == [0, 0, 2]
    messages = [str(one.message) for one in told]
    assert any(f"{broken}: not an image" in one for one in messages)
    assert any(one.startswith("gone.jpg: no such file; a text that") for one in messages)
    with pytest.raises(PolyglanceError, match=r"gone\.jpg: no such file"):
        search(model, pictures, "gone.jpg")


def test_a_sentence_that_ends_like_a_file_is_a_sentence(model, pictures):
    with pytest.warns(PolyglanceWarning, match="does not know 1 of the 2 words"):
        assert search(model, pictures, "dog .jpg")[0].hits


def test_images_are_not_translated(model, pictures, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"fr": "chien", "en": "dog"}\n')
    with pytest.raises(PolyglanceError, match="cannot be combined with `translator`"):
        search(model, pictures, pictures[0], translator=f"file:{tmp_path / 't.jsonl'}")
