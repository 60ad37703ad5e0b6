"""The demo: photographs of pip packages or one's own, asked in many languages."""

import json
import sys
from pathlib import Path

import pytest
from PIL import Image

from polyglance.cli import demo
from polyglance.cli.demo_queries import GENERAL_QUERIES, PHOTO_QUERIES
from polyglance.core.languages import language_name
from polyglance.data import photographs as module
from polyglance.data.photographs import PHOTOGRAPHS, photographs
from polyglance.errors import PolyglanceError
from polyglance.gallery import Hit, Query, QueryResult
from polyglance.gallery.hit import Cutoff
from polyglance.gallery.sheets import sheet
from polyglance.recipes import load_recipe, parse_overrides
from tests.conftest import TOY
from tests.everyday.conftest import write_picture


@pytest.fixture
def packages(tmp_path, monkeypatch) -> Path:
    """Packages with pictures where scikit-image and scikit-learn have theirs."""
    for number, one in enumerate(PHOTOGRAPHS):
        write_picture(tmp_path / "site" / one.module / one.file, number)
        (tmp_path / "site" / one.module / "__init__.py").write_text("raise ImportError('imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    for name in ("skimage", "sklearn"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path / "site"


@pytest.fixture
def reads_all(run, tmp_path, model_folder, monkeypatch):
    """The command with a model that reads any word of any language."""
    from polyglance.models import Model
    from polyglance.runtime import export_model
    from polyglance.text.embedders import embedders

    changes = [c for c in TOY if "min_count" not in c]
    recipe = load_recipe(
        "nce",
        parse_overrides(
            [*changes, "image.feature=efficientnet-lite0/global", "text.embedder.kind=subwords"]
        ),
    )
    embedder = embedders.get("subwords").build(recipe, None)
    folder = tmp_path / "reads"
    export_model(
        Model(recipe, embedder, 1280, ["en"]), folder, cache=model_folder.parent / "networks"
    )
    monkeypatch.setenv("POLYGLANCE_MODEL", str(folder))
    return run


def test_questions_are_about_photographs_that_are_there():
    names = {one.name for one in PHOTOGRAPHS}
    assert {name for _, _, name in PHOTO_QUERIES} <= names
    codes = [code for code, *_ in (*PHOTO_QUERIES, *GENERAL_QUERIES)]
    assert len(set(codes)) >= 18
    assert len({code for code, _ in GENERAL_QUERIES}) >= 10
    assert all(language_name(code) != code for code in codes)


def test_photographs_are_found_without_importing_the_packages(packages):
    found = photographs()
    assert len(found) == len(PHOTOGRAPHS)
    assert all(path.is_file() for path in found)
    assert all(one.licence.startswith(("CC", "public domain", "no known")) for one in PHOTOGRAPHS)


def test_the_error_for_missing_packages_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(PolyglanceError, match=r"pip install 'polyglance\[demo\]'.*--images"):
        photographs()


def test_photographs_are_asked_for(reads_all, packages, tmp_path):
    result = reads_all("demo", "--out", tmp_path / "out")
    assert f"{len(PHOTOGRAPHS)} sample photos from pip packages" in result.stdout
    assert "cat        chelsea.png (CC0, Stefan van der Walt)" in result.stdout
    assert f"of {len(PHOTO_QUERIES)} queries rank the right photo first" in result.stdout
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [one["query"] for one in found] == [text for _, text, _ in PHOTO_QUERIES]
    assert {len(one["hits"]) for one in found} == {5}
    assert Image.open(tmp_path / "out" / "sheet.png").format == "PNG"


def test_the_users_images_are_searched(reads_all, pictures, tmp_path):
    result = reads_all("demo", "--images", pictures, "--out", tmp_path / "out")
    assert "sample photos from pip packages" not in result.stdout
    assert len(json.loads((tmp_path / "out" / "results.json").read_text())) == len(GENERAL_QUERIES)
    reads_all("demo", "--images", pictures, "--out", tmp_path / "out")  # its own folder again


def test_the_folder_has_a_default(reads_all, pictures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reads_all("demo", "--images", pictures)
    assert (tmp_path / "demo" / "sheet.png").is_file()


def test_the_sheet_marks_images_below_the_cut_off(pictures, tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(sheet, "write_sheet", lambda path, rows, title: kept.extend(rows))
    paths = sorted(pictures.rglob("*.[pP]*"))[:2]
    hits = [
        Hit(path, score, rank)
        for rank, (path, score) in enumerate(zip(paths, (0.7, 0.1), strict=True), 1)
    ]
    cutoff = Cutoff("probability", 0.5)
    query = Query("a dog", "en", ("a", "dog"), ())
    found = [
        QueryResult(query, hits, cutoff=cutoff),
        QueryResult(query, hits[1:], cutoff=cutoff),
        QueryResult(query, hits),
    ]
    demo._write_sheet(tmp_path / "sheet.png", found, [paths[1], paths[1], None], 2)
    assert [row.hits for row in kept] == [hits[:1], hits[1:], hits]
    assert [row.note for row in kept] == [None, "nothing here looks like that; the closest:", None]


def test_questions_that_the_model_cannot_read_are_left_out(run, pictures, tmp_path, monkeypatch):
    result = run("demo", "--images", pictures, "--out", tmp_path / "out")
    assert "the model cannot read the queries in fr, es, zh" in result.stdout
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [one["language"] for one in found] == ["en", "de"]
    monkeypatch.setattr("polyglance.cli.demo.GENERAL_QUERIES", [("zh", "一个人")])
    with pytest.raises(PolyglanceError, match="can read none of the demo's queries"):
        run("demo", "--images", pictures, "--out", tmp_path / "out")


def test_mistakes(run, pictures, tmp_path, monkeypatch):
    with pytest.raises(PolyglanceError, match="--images cannot be combined with --train"):
        run("demo", "--images", pictures, "--train", "--out", tmp_path / "out")
    with pytest.raises(PolyglanceError, match="not empty and not a demo's"):
        run("demo", "--images", pictures, "--out", pictures)
    with pytest.raises(PolyglanceError, match="nowhere"):
        run("demo", "--images", tmp_path / "nowhere", "--out", tmp_path / "out")


def test_without_a_model_it_trains(run, tmp_path, monkeypatch):
    trained = []
    monkeypatch.delenv("POLYGLANCE_MODEL")
    monkeypatch.setattr("polyglance.core.shipped.PLACE", tmp_path / "none")
    monkeypatch.setattr("polyglance.cli.demo.train_demo", lambda *given: trained.append(given))
    result = run("demo", "--out", tmp_path / "out")
    assert "does not include a model; training a small one" in result.stdout
    run("demo", "--out", tmp_path / "out", "--train")
    run("demo", "--out", tmp_path / "out", "--epochs", "2")
    assert [one[1:3] for one in trained] == [("generated", 4), ("generated", 4), ("generated", 2)]
