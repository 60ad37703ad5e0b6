"""`base` names the included model in every command."""

import shutil

import pytest

import polyglance
from polyglance.errors import PolyglanceError
from polyglance.runtime import load, model_folder


def test_commands_take_base(run, pictures, model_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "## Model" in run("card", "base").stdout
    expected = run("search", pictures, "red dog", "--top", "2").stdout
    assert run("search", pictures, "red dog", "--top", "2", "--model", "base").stdout == expected
    assert run("search", "base", pictures, "red dog", "--top", "2").stdout == expected
    assert polyglance.load("base").id == load("base").id == load(model_folder).id
    for command in (["compact", "base", "--out", "x"], ["export", "base", "--onnx", "x"]):
        with pytest.raises(PolyglanceError, match="is an exported model; pass the run"):
            run(*command)


def test_a_folder_of_that_name_takes_precedence(model_folder_copy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(model_folder("base")) == "base"
    assert polyglance.load("base").folder == model_folder_copy.relative_to(tmp_path)


@pytest.fixture
def model_folder_copy(request, tmp_path):
    return shutil.copytree(request.getfixturevalue("model_folder"), tmp_path / "base")


def test_what_was_looked_for_is_named(tmp_path):
    with pytest.raises(PolyglanceError, match=r"nowhere: no such folder; a model is .* base"):
        polyglance.load(tmp_path / "nowhere")
    with pytest.raises(PolyglanceError, match=r"neither model.json \(a run\) nor manifest.json"):
        polyglance.load(tmp_path)
