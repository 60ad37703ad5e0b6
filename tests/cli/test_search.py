import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from polyglance.cli import search as command
from polyglance.cli import search_hits
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.gallery.sheets.sheet import sheet_size
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY

pytestmark = pytest.mark.usefixtures("thumbnails")


@pytest.fixture
def folder(tmp_path):
    """Five pictures, one of them broken, in nested folders."""
    for number, colour in enumerate(["red", "green", "blue", "white"]):
        path = tmp_path / "pictures" / "deep" / f"{number}.PNG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 20), colour).save(path)
    (tmp_path / "pictures" / "broken.jpg").write_bytes(b"no picture")
    return tmp_path / "pictures"


def save_model(folder, feature="x/global", dim=48):
    changes = [
        f"image.feature={feature}",
        "text.embedder.word_dim=4",
        "text.encoder.hidden=4",
        "joint.dim=4",
    ]
    recipe = load_recipe("nce", parse_overrides(changes))
    words = TableEmbedder(recipe, {"": Vocabulary(["dog", "hund", "red", "[bold]"])})
    Model(recipe, words, dim, ["de", "en"]).save(folder)
    return folder


@pytest.fixture
def model(tmp_path):
    return save_model(tmp_path / "model")


def test_lines_of_score_and_path_on_a_pipe(run, model, folder):
    result = run("search", model, folder, "red dog", "--top", "2")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [len(line) for line in lines] == [2, 2]
    assert float(lines[0][0]) >= float(lines[1][0])
    assert all(path.startswith(str(folder / "deep")) for _, path in lines)
    assert f"skipped 1:\n  {folder / 'broken.jpg'}: not an image" in result.stderr


def test_several_queries_name_themselves(run, model, folder):
    result = run("search", model, folder, "dog", "hund", "--top", "1")
    assert [line.split("\t")[2] for line in result.stdout.splitlines()] == ["dog", "hund"]


def test_words_without_quotes_are_noted(run, model, folder):
    note = "note: searched as 3 queries; put a sentence in quotes"
    assert note in run("search", model, folder, "red", "dog", "hund", "--top", "1").stderr
    for queries in (["dog"], ["red dog", "hund"], ["red dog hund"]):
        assert "searched as" not in run("search", model, folder, *queries, "--top", "1").stderr


def test_an_unknown_protocol_is_refused_before_the_search(model, folder, monkeypatch):
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("POLYGLANCE_GRAPHICS", "kity")
    with pytest.raises(PolyglanceError, match="POLYGLANCE_GRAPHICS=kity: must be one of kitty"):
        command.search_command(str(model), [str(folder), "red dog"])


def test_a_copy_of_the_image_searched_for_is_found(run, model, folder):
    original, copy = folder / "deep" / "0.PNG", folder / "deep" / "copy.png"
    copy.write_bytes(original.read_bytes())
    result = run("search", model, folder, "--like", original, "--top", "9")
    paths = [line.split("\t")[1] for line in result.stdout.splitlines()]
    assert paths[0] == str(copy)
    assert str(original) not in paths
    assert len(paths) == 4


def test_copies_are_noted_on_a_pipe(run, model, folder):
    (folder / "deep" / "copy.png").write_bytes((folder / "deep" / "0.PNG").read_bytes())
    result = run("search", model, folder, "dog", "--top", "9")
    assert "note: 1 image has copies, which --json lists" in result.stderr
    assert "has copies" not in run("search", model, folder, "dog", "--json", "-").stderr


def test_a_table_on_a_terminal(run, model, folder, monkeypatch, capsys):
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    command.search_command(str(model), [str(folder), "red [bold]dog"], top=2)
    shown = capsys.readouterr().out
    assert "red [bold]dog" in shown
    assert "rank" in shown
    assert shown.count(str(folder / "deep")) == 2


def test_json_and_sheet(run, model, folder, tmp_path):
    out, sheet = tmp_path / "new" / "found.json", tmp_path / "new" / "sheet.png"
    run("search", model, folder, "dog", "cat dog", "--top", "3", "--json", out, "--sheet", sheet)
    value = json.loads(out.read_text())
    assert value["pictures"] == 4
    assert [one["path"] for one in value["skipped"]] == [str(folder / "broken.jpg")]
    assert [one["query"] for one in value["queries"]] == ["dog", "cat dog"]
    assert [one["unknown_words"] for one in value["queries"]] == [[], ["cat"]]
    assert [hit["rank"] for hit in value["queries"][0]["hits"]] == [1, 2, 3]
    with Image.open(sheet) as image:
        assert image.size == sheet_size(2, 3, False)


def test_json_on_stdout_is_the_only_output(run, model, folder):
    result = run("search", model, folder, "dog", "--json", "-")
    assert len(json.loads(result.stdout)["queries"][0]["hits"]) == 4


def test_unknown_words_are_noted(run, model, folder):
    result = run("search", model, folder, "red qux")
    assert "note: the model does not know 1 of the 2 words of 'red qux': qux" in result.stderr


def test_a_dataset_folder_with_imported_features(run, toy, tmp_path):
    model = save_model(tmp_path / "other", TOY[0].partition("=")[2], 16)
    result = run("search", model, toy, "red dog", "--top", "3")
    names = {photo.image for photo in load_dataset(toy).images}
    assert {line.split("\t")[1] for line in result.stdout.splitlines()} <= names
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty", "dog"], "empty: there are no images"),
        (["nowhere", "dog"], "nowhere: no such folder"),
        (["one.png", "dog"], r"one.png: is an image, not a folder.* search '\.',.*--captions FILE"),
        (["one.png"], "one.png: is an image, .* --like one.png"),
        (["unnamed", "dog"], "unnamed: is an image"),
        (["none.jpg", "dog"], "none.jpg: no such image"),
        (["notes.txt", "dog"], "notes.txt: not a dataset folder"),
        (["pictures", "qux"], "knows none of the words of 'qux'"),
        (["pictures", "!!"], "has no words"),
        (["pictures", "dog", "--language", "fr"], "not trained on language 'fr'"),
        (["pictures", "dog", "--sheet", "empty"], "is a folder; pass a file"),
        (["pictures", "dog", "--json", "model/model.json/x"], "cannot be created"),
        (["pictures", "dog", "--sheet", "s.png", "--font", "no.ttf"], "no such font file"),
        (["pictures", "dog", "--font", "some.ttf"], "--font needs --sheet"),
        (["pictures", "--like", "a.png", "--consistency"], "--consistency .* with --like or --not"),
    ],
)
def test_mistakes(run, model, folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "one.png").write_bytes(b"")
    shutil.copy(folder / "deep" / "2.PNG", tmp_path / "unnamed")
    (tmp_path / "notes.txt").write_text("dog")
    with pytest.raises(PolyglanceError, match=message):
        run("search", model, *arguments)
    assert not (tmp_path / "s.png").exists()


def test_valid_queries_are_answered_beside_unknown_ones(run, model, folder):
    result = run("search", model, folder, "qux", "dog", "--top", "2")
    assert [line.split("\t")[2] for line in result.stdout.splitlines()] == ["dog", "dog"]
    assert "note: the model knows none of the words of 'qux'" in result.stderr


def test_an_image_as_query(run, model, folder):
    query = folder / "deep" / "2.PNG"
    result = run("search", model, folder, query)
    found = [line.split("\t")[1] for line in result.stdout.splitlines()]
    assert str(query) not in found
    assert {Path(one).name for one in found} == {"0.PNG", "1.PNG", "3.PNG"}


def test_the_extension_sets_the_format_of_a_sheet(run, model, folder, tmp_path):
    run("search", model, folder, "dog", "--sheet", tmp_path / "s.pdf")
    assert (tmp_path / "s.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(PolyglanceError, match=r"cannot be written as '\.svg'"):
        run("search", model, folder, "dog", "--sheet", tmp_path / "s.svg")


def test_an_empty_name_of_images_is_refused(run, model, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(PolyglanceError, match="is not a folder"):
        run("search", model, "", "dog")
    assert run("search", model, ".", "dog", "--top", "1").stdout


def test_copies_are_named_in_the_table(model, folder, monkeypatch, capsys):
    (folder / "deep" / "copy.png").write_bytes((folder / "deep" / "0.PNG").read_bytes())
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    command.search_command(str(model), [str(folder), "red dog"], top=9, thumbnails=False)
    shown = capsys.readouterr().out
    assert f"+1 copy: {folder / 'deep' / 'copy.png'}" in shown
    assert re.findall(r"^ *([0-9]+) +-?[0-9.]+ ", shown, re.M) == ["1", "2", "3", "4"]


def test_a_model_of_drawings_is_reported(run, model, folder):
    config = json.loads((model / "model.json").read_text())
    (model / "model.json").write_text(json.dumps({**config, "data": "generated"}))
    assert "note: this model was trained on generated drawings" in (
        run("search", model, folder, "dog").stderr
    )
