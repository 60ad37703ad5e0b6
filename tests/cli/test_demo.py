import json
import shutil

import pytest
from PIL import Image

from polyglance.cli import demo_train as demo
from polyglance.data import CaptionedImage, load_dataset, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.gallery import gallery_of_dataset
from polyglance.gallery.sheets.languages import choose_queries, find_rows
from polyglance.gallery.sheets.sheet import sheet_size
from polyglance.models import Model
from polyglance.storage.files import read_json, write_json

WORLD = "generated:photos=40"
MADE = ["demo.json", "model", "results.json", "results.md", "sheet.png"]


@pytest.fixture(scope="module")
def made(thumbnails, run, tmp_path_factory):
    """A demo of one epoch on forty pictures, and what it printed."""
    out = tmp_path_factory.mktemp("demo") / "out"
    return out, run("demo", "--out", out, "--data", WORLD, "--epochs", "1").stdout


@pytest.fixture
def copy(made, tmp_path):
    """A copy of that demo's folder, to be changed."""
    return shutil.copytree(made[0], tmp_path / "copy")


def test_it_makes_a_model_a_table_and_a_sheet(made):
    out, printed = made
    assert sorted(path.name for path in out.iterdir()) == MADE
    headlines = [line for line in printed.splitlines() if line[1:3] == "/5"]
    assert [line[0] for line in headlines] == list("12345")
    assert all(str(out / name) in printed for name in MADE[1:])
    assert len(Model.load(out / "model").languages) == 10
    assert len(read_json(out / "results.json")["languages"]) == 10
    assert "| zh | independent |" in (out / "results.md").read_text()
    with Image.open(out / "sheet.png") as image:
        assert image.size == sheet_size(10, 4, True)


def test_a_second_run_replaces_its_own_files_alone(copy, run):
    (copy / "mine.txt").write_text("keep")
    weights = (copy / "model" / "model.safetensors").read_bytes()
    (copy / "model" / "model.safetensors").write_bytes(b"")
    (copy / "sheet.png").unlink()
    printed = run("demo", "--out", copy, "--data", WORLD, "--epochs", "1").stdout
    assert "resuming" not in printed
    assert sorted(path.name for path in copy.iterdir()) == sorted([*MADE, "mine.txt"])
    assert (copy / "model" / "model.safetensors").read_bytes() == weights


def test_a_killed_run_resumes(copy, run):
    written = (copy / "model" / "model.safetensors").stat().st_mtime_ns
    write_json(copy / "demo.json", {**read_json(copy / "demo.json"), "trained": False})
    printed = run("demo", "--out", copy, "--data", WORLD, "--epochs", "1").stdout
    assert "resuming the existing run" in printed
    assert (copy / "model" / "model.safetensors").stat().st_mtime_ns == written


def test_a_killed_run_of_another_recipe_is_replaced(copy):
    mark = {**read_json(copy / "demo.json"), "trained": False}
    write_json(copy / "demo.json", mark)
    same = {"data": mark["data"], "recipe": mark["recipe"]}
    assert demo._unfinished(copy, same)
    assert not demo._unfinished(copy, {**same, "data": "other"})
    assert not demo._unfinished(copy, {**same, "recipe": {}})
    (copy / "model" / "model.json").unlink()
    assert not demo._unfinished(copy, same)


def test_a_folder_of_something_else_is_left_alone(run, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(PolyglanceError, match="not empty and not a demo's"):
        run("demo", "--out", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyglanceError, match="file: cannot be created"):
        run("demo", "--out", tmp_path / "file")


def test_one_photograph_in_its_languages(made):
    model, part = Model.load(made[0] / "model"), load_dataset(WORLD).split("test")
    readable = set(part.paths())
    photo, queries = choose_queries(model, part, readable)
    assert photo == part.images[0]
    texts = {query.language: query.text for query in queries}
    assert texts == {code: kinds["translation"][0] for code, kinds in photo.captions.items()}
    photo, _ = choose_queries(model, part, readable - {part.path(photo)})
    assert photo == part.images[1]


def test_languages_without_a_translation_are_left_out(made, tmp_path):
    model = Model.load(made[0] / "model")
    photos = [
        CaptionedImage("1.jpg", "test", {"en": {"translation": ["qqq www"]}}),
        CaptionedImage("2.jpg", "test", {"en": {"translation": ["a house"]}}),
        CaptionedImage(
            "3.jpg", "test", {"en": {"translation": ["a house"]}, "xx": {"translation": ["a"]}}
        ),
        CaptionedImage(
            "4.jpg",
            "test",
            {"en": {"translation": ["a red dog"]}, "de": {"independent": ["ein Haus"]}},
        ),
    ]
    save_folder(tmp_path / "few", photos)
    part = load_folder(tmp_path / "few")
    photo, queries = choose_queries(model, part, set(part.paths()))
    assert (photo.image, [query.text for query in queries]) == ("2.jpg", ["a house"])
    save_folder(tmp_path / "few", [photos[0]])
    part = load_folder(tmp_path / "few")
    with pytest.raises(PolyglanceError, match="no image has a caption with words"):
        choose_queries(model, part, set(part.paths()))


def test_a_row_that_misses_says_the_rank(made):
    model, part = Model.load(made[0] / "model"), load_dataset(WORLD)
    gallery = gallery_of_dataset(model, part)
    _, queries = choose_queries(model, part, set(gallery.paths))
    ranked = find_rows(model, gallery, queries[:1], gallery.paths[0], 8)[0].hits
    first = find_rows(model, gallery, queries[:1], ranked[0].path, 8)[0]
    assert first.note is None
    assert first.correct == {ranked[0].path}
    third = find_rows(model, gallery, queries[:1], ranked[2].path, 2)[0]
    assert third.note == "the right image has rank 3"
    assert list(third.hits) == list(ranked[:2])


@pytest.mark.slow
def test_demo_and_search_as_programs(shell, tmp_path):
    """The real network, from an empty cache, in separate processes."""
    cache = {"POLYGLANCE_CACHE": str(tmp_path / "cache")}
    world = "generated:photos=60"
    finished = shell("demo", "--out", "out", "--data", world, "--epochs", "2", **cache)
    assert finished.returncode == 0, finished.stderr
    results = read_json(tmp_path / "out" / "results.json")
    assert len(results["languages"]) == 10
    question = ["ein roter Hund", "一只狗", "--top", "3", "--json", "-"]
    finished = shell("search", "out/model", world, *question, "--sheet", "s.png", **cache)
    assert finished.returncode == 0, finished.stderr
    value = json.loads(finished.stdout)
    assert value["pictures"] == 60
    assert [len(query["hits"]) for query in value["queries"]] == [3, 3]
    with Image.open(tmp_path / "s.png") as image:
        assert image.size == sheet_size(2, 3, False)
