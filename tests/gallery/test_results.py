"""Results of a search as a notebook uses them."""

import base64
import json
import os
from pathlib import Path

import pytest
from PIL import Image

from polyglance.data import load_folder
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.gallery import Hit, Query, QueryResult, check_query, open_gallery, search
from polyglance.gallery.sheets.sheet import sheet_size
from polyglance.recipes import load_recipe
from tests.models.small import table_model


def test_places_and_objects_find_the_same(model, pictures, tmp_path):
    model.save(tmp_path / "model")
    folder = pictures[1].parent
    named = search(str(tmp_path / "model"), str(folder), ["red dog", "hund"], top=3)
    gallery = open_gallery(model, folder)
    given = search(model, gallery, [check_query(model, "red dog"), "hund"], top=3)
    assert named.results == given.results
    assert len(named) == 2
    assert [one.query.text for one in named] == ["red dog", "hund"]
    assert (named.model, named.images) == (str(tmp_path / "model"), str(folder))
    assert (given.model, given.images) == (None, None)


def test_json_and_sheet(model, pictures, tmp_path):
    broken = pictures[0].parent / "broken.jpg"
    broken.write_bytes(b"no picture")
    with pytest.warns(PolyglanceWarning):
        found = search(model, [*pictures, broken], "red qux", top=2, language="en")
    found.write_json(tmp_path / "r.json")
    value = json.loads((tmp_path / "r.json").read_text())
    hits = [{"rank": h.rank, "score": h.score, "path": str(h.path)} for h in found[0].hits]
    query = {"query": "red qux", "language": "en", "unknown_words": ["qux"], "hits": hits}
    query |= {"score_kind": "cosine", "cutoff": None}
    skipped = {"path": str(broken), "reason": found.gallery.unreadable[0][1]}
    assert value == {
        "model": None, "images": None, "image_count": 12, "pictures": 12, "skipped": [skipped],
        "queries": [query],
    }  # fmt: skip
    assert found.write_sheet(tmp_path / "s.png", "a title") == []
    with Image.open(tmp_path / "s.png") as image:
        assert image.size == sheet_size(1, 2, True)


def test_the_short_form(model, pictures):
    found = search(model, pictures, ["red dog", "hund"], top=2)
    best = [one.hits[0] for one in found]
    shown = [f"{hit.path.name} ({hit.score:.2f})" for hit in best]
    assert repr(found) == (
        f"<SearchResults in 12 images, 'red dog': 2, best {shown[0]}; 'hund': 2, best {shown[1]}>"
    )
    assert repr(found.gallery) == "<Gallery of 12 images, embeddings (12, 8)>"
    many = search(model, pictures, ["dog"] * 50, top=2)
    assert repr(many).endswith("; …>")
    assert len(repr(many)) < 250


def test_queries_in_translation(model, pictures, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"fr": "chien", "en": "dog", "de": "hund"}\n')
    asked = {"translator": f"file:{tmp_path / 't.jsonl'}", "language": "fr"}
    with pytest.warns(PolyglanceWarning, match="'chien' is searched for as 'dog'"):
        found = search(model, pictures, "chien", **asked)
    assert found.results == search(model, pictures, "dog", language="en").results
    assert found.notes == ["'chien' is searched for as 'dog'"]
    with pytest.warns(PolyglanceWarning, match="as 'hund'"):
        german = search(model, pictures, ["chien"], translate_to="de", **asked)
    assert german[0].query.language == "de"
    with pytest.raises(PolyglanceError, match="one for all"):
        search(model, pictures, ["chien"], **{**asked, "language": ["fr"]})


def test_no_sheet_without_files(toy, tmp_path):
    changes = {"image.feature": "imported/toy", "joint.dim": 8, "text.encoder.hidden": 8}
    model = table_model(load_recipe("nce", changes), ["red", "dog"])
    found = search(model, load_folder(toy), "red dog", top=1)
    with pytest.raises(PolyglanceError, match="has features but no images"):
        found.write_sheet(tmp_path / "s.png")
    assert not (tmp_path / "s.png").exists()


def test_copies_have_exact_names_in_json() -> None:
    name = Path(os.fsdecode(b"caf\xe9.jpg"))
    hit = Hit(Path("a.jpg"), 0.5, 1, (Path("b.jpg"), name))
    found = QueryResult(Query("dog", "en", ("dog",), ()), [hit]).as_dict()["hits"][0]
    assert found["copies"][0] == {"path": "b.jpg"}
    assert base64.b64decode(found["copies"][1]["path_base64"]) == b"caf\xe9.jpg"
