"""`polyglance search FOLDER QUERY`: no model named, nothing configured, no torch."""

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import polyglance
from polyglance.adapters.sentence_transformers import SentenceEncoder
from polyglance.errors import PolyglanceError
from polyglance.gallery import check_query, exact, gallery_of_files, search
from polyglance.runtime import export_model, load
from tests.everyday.conftest import write_picture
from tests.test_missing_packages import run as without_packages
from tests.text.subword_models import sentence_model


def lines(result) -> list[tuple[float, str]]:
    found = [line.split("\t") for line in result.stdout.splitlines()]
    return [(float(score), Path(path).name) for score, path, *_ in found]


def test_a_folder_and_a_sentence(run, model, pictures):
    result = run("search", pictures, "red dog", "--top", "3")
    images = sorted(pictures.rglob("*.[pP]*"), key=lambda path: path.name)
    scores = model.similarity(model.encode_images(images), model.encode_text("red dog"))[:, 0]
    expected = [images[i].name for i in np.argsort(-scores)[:3]]
    assert [name for _, name in lines(result)] == expected
    np.testing.assert_allclose(
        [score for score, _ in lines(result)], -np.sort(-scores)[:3], atol=2e-3
    )


def test_models_can_be_named_before_the_folder_and_by_an_option(
    run, pictures, model_folder, monkeypatch
):
    expected = run("search", pictures, "dog").stdout
    monkeypatch.delenv("POLYGLANCE_MODEL")
    assert run("search", model_folder, pictures, "dog").stdout == expected
    assert run("search", "--model", model_folder, pictures, "dog").stdout == expected
    with pytest.raises(PolyglanceError, match="is a model; pass a folder of images after it"):
        run("search", model_folder)


def test_without_a_model_the_message_says_what_to_do(run, pictures, monkeypatch, tmp_path):
    monkeypatch.setattr("polyglance.core.shipped.PLACE", tmp_path / "none")
    monkeypatch.delenv("POLYGLANCE_MODEL")
    with pytest.raises(PolyglanceError, match="does not include a model; pass one with --model"):
        run("search", pictures, "dog")
    monkeypatch.setenv("POLYGLANCE_MODEL", str(tmp_path / "lost"))
    with pytest.raises(PolyglanceError, match=r"POLYGLANCE_MODEL=.*lost: no such folder"):
        run("search", pictures, "dog")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "dog"], "nowhere: no such"),
        (["empty", "dog"], "empty: there are no images in this folder"),
        (["texts", "dog"], "texts: there are no images in this folder"),
        (["file.txt", "dog"], "file.txt"),
        (["pictures", ""], "the query '' has no words"),
        (["pictures", "  "], "the query '  ' has no words"),
        (["pictures", "qux"], r"knows none of the words of 'qux' \(qux\)"),
        (["", "dog"], "'' is not a folder"),
        (["pictures"], "there is no query"),
        (["pictures", "--like", "lost.jpg"], "lost.jpg: no such file"),
        (["pictures", "dog", "--not", "qux"], "knows none of the words of 'qux'"),
        (["pictures", "dog", "--model", "nowhere"], "nowhere: no such folder; a model is"),
        (
            ["pictures", "dog", "--captions", "c.txt", "--like", "a.jpg"],
            "cannot be combined with --captions",
        ),
        (["pictures", "dog", "--like", "a.jpg", "--consistency"], "cannot be combined with --like"),
    ],
)
def test_mistakes(run, pictures, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("no picture")
    (tmp_path / "file.txt").write_text("no picture")
    with pytest.raises(PolyglanceError, match=message):
        run("search", *arguments)
    assert not (tmp_path / "cache" / "index").exists()


def test_a_folder_that_cannot_be_read(run, tmp_path, closed):
    with pytest.raises(PolyglanceError, match="the folder cannot be read"):
        run("search", closed(tmp_path / "shut"), "dog")


def test_a_folder_below_that_cannot_be_read_is_named(run, pictures, closed):
    closed(pictures / "shut")
    result = run("search", pictures, "dog")
    assert len(lines(result)) == 6
    assert "shut: the folder cannot be read" in result.stderr


def test_unreadable_pictures_are_named_once(run, pictures):
    (pictures / "bad.jpg").write_bytes(b"no picture")
    assert "bad.jpg: not an image" in run("search", pictures, "dog").stderr
    again = run("search", pictures, "dog").stderr
    assert "bad.jpg" not in again
    assert "skipped 1 that cannot be read" in again
    found = json.loads(run("search", pictures, "dog", "--json", "-").stdout)
    assert [Path(one["path"]).name for one in found["skipped"]] == ["bad.jpg"]


def test_names_that_are_not_utf_8(run, pictures):
    write_picture(Path(os.fsdecode(os.fsencode(pictures) + b"/caf\xe9.png")), 9)
    assert b"/caf\xe9.png\n" in run("search", pictures, "dog").stdout_bytes


def test_a_picture_is_no_result_of_its_own(run, pictures, tmp_path):
    copy = tmp_path / "2.png"
    copy.write_bytes((pictures / "2.png").read_bytes())
    first, second, *_ = lines(run("search", pictures, "--like", copy))
    assert first[1] == "2.png"
    assert first[0] == pytest.approx(1, abs=2e-3)
    own = run("search", pictures, "--like", pictures / ".." / pictures.name / "2.png")
    assert next(name for _, name in lines(own)) == second[1]
    assert "2.png" not in {name for _, name in lines(own)}


def test_the_model_is_named_that_was_not_asked_for(
    run, model_folder, pictures, tmp_path, monkeypatch
):
    def named() -> str:
        return json.loads(run("search", pictures, "dog", "--json", "-").stdout)["model"]

    assert named() == str(model_folder)  # of the environment variable
    monkeypatch.setattr(exact, "PLACE", model_folder)
    assert named() == "base"
    assert search(load(model_folder), pictures, "dog").model is None


def test_scores_say_what_they_are(run, pictures):
    def kind(*options) -> tuple:
        found = json.loads(run("search", pictures, *options, "--json", "-").stdout)
        (query,) = found["queries"]
        return query["score_kind"], query["cutoff"]

    assert kind("dog") == ("cosine", None)  # the model has no background
    assert kind("--like", pictures / "2.png") == ("cosine", None)
    assert kind("dog", "--not", "snow") == ("standard", None)


def test_mixtures(run, model, pictures):
    """A brute-force reference: standard scores over the gallery, averaged and taken off."""
    images = sorted(pictures.rglob("*.[pP]*"), key=lambda path: path.name)
    vectors = model.encode_images(images)
    like = model.encode_images(pictures / "2.png")

    def standard(other: np.ndarray) -> np.ndarray:
        values = model.similarity(vectors, other)[:, 0]
        return (values - values.mean()) / values.std()

    dog, snow = (standard(model.encode_text(word)) for word in ("dog", "snow"))
    expected = (dog + standard(like)) / 2 - snow
    options = ("--like", pictures / "2.png", "--not", "snow")
    result = run("search", pictures, "dog", *options)
    order = [i for i in np.argsort(-expected) if images[i].name != "2.png"]
    assert [name for _, name in lines(result)] == [images[i].name for i in order]
    np.testing.assert_allclose([s for s, _ in lines(result)], expected[order], atol=0.02)
    found = json.loads(run("search", pictures, "dog", *options, "--json", "-").stdout)["queries"]
    assert found[0]["without"] == ["snow"]
    assert found[0]["like"] == [str(pictures / "2.png")]


def test_captions_of_a_picture(run, model, pictures, tmp_path):
    (tmp_path / "c.txt").write_text("dog\nsnow\nred people\n")
    result = run("search", "--captions", tmp_path / "c.txt", pictures / "1.PNG", "--top", "2")
    texts = ["dog", "snow", "red people"]
    scores = model.similarity(model.encode_images(pictures / "1.PNG"), model.encode_text(texts))[0]
    expected = [texts[i] for i in np.argsort(-scores)[:2]]
    assert [name for _, name in lines(result)] == expected


def test_sheets(run, pictures, tmp_path):
    run("search", pictures, "dog", "--sheet", tmp_path / "s.png")
    assert Image.open(tmp_path / "s.png").format == "PNG"


def test_results_are_opened_in_a_viewer(run, pictures, tmp_path, monkeypatch):
    viewer = tmp_path / "bin" / "xdg-open"
    viewer.parent.mkdir()
    viewer.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{viewer.parent}:{os.environ['PATH']}")
    result = run("search", pictures, "dog", "--top", "2", "--open")
    names = [line.split("\t")[1] for line in result.stdout.splitlines()]
    for _ in range(500):
        opened = (tmp_path / "opened").read_text() if (tmp_path / "opened").exists() else ""
        if len(opened.splitlines()) == 2:
            break
        time.sleep(0.01)
    assert sorted(opened.splitlines()) == sorted(names)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PolyglanceError, match="--open needs the program 'xdg-open'"):
        run("search", pictures, "dog", "--open")


def test_without_torch_and_two_at_once(program, pictures):
    """Two searches of a folder that nobody has indexed find the same."""
    both = [program("search", pictures, "red dog", "--top", "4") for _ in range(2)]
    outputs = [one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert len(outputs[0][0].splitlines()) == 4


def test_python(model, model_folder, pictures, monkeypatch):
    monkeypatch.setenv("POLYGLANCE_MODEL", str(model_folder))
    own = polyglance.load()
    assert own.id == polyglance.load(model_folder).id == model.id
    found = search(None, pictures, "dog", top=2)
    files = gallery_of_files(own, sorted(pictures.glob("*.*")))
    assert len(files) == 5
    assert search(own, pictures, "dog", top=2)[0].hits == found[0].hits
    assert [hit.rank for hit in found[0].hits] == [1, 2]


def test_a_kill_costs_little(program, model, tmp_path, monkeypatch):
    """Indexing is killed with -9; the next search reads the rest alone, and finds all."""
    folder = tmp_path / "many"
    for number in range(200):
        write_picture(folder / f"{number:03}.png", number)
    process = program("search", folder, "dog")
    database = f"file:{tmp_path}/cache/index/{model.id[:32]}.sqlite?mode=ro"
    kept, end = 0, time.monotonic() + 120
    while not kept and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(database, uri=True)) as connection,
        ):
            (kept,) = connection.execute("SELECT count(*) FROM pictures").fetchone()
    process.kill()
    process.communicate()
    assert 0 < kept < 200
    read: list[Path] = []
    embed = model.images.embed_files
    monkeypatch.setattr(model.images, "embed_files", lambda p: (read.extend(p), embed(p))[1])
    found = search(model, folder, "dog", top=200, show_progress=False)
    assert len(found[0].hits) == 200
    assert 0 < len(read) <= 200 - kept


def test_python_and_cards_without_torch(model_folder, pictures, tmp_path):
    code = f"""
import polyglance
from polyglance.cli import main
model = polyglance.load({str(model_folder)!r})
image = {str(pictures / "0.png")!r}
print(model.encode_text(["dog", "snow"]).shape, model.encode_images([image]).shape)
found = polyglance.search(model, {str(pictures)!r}, "dog", like=image, without="snow")
print(len(found[0].hits), "torch" in sys.modules)
sys.argv = ["polyglance", "card", {str(model_folder)!r}]
main()
"""
    done = without_packages(code, tmp_path)
    assert done.stdout.startswith("(2, 16) (1, 16)\n5 False\n# nce\n"), done.stderr


def test_models_of_subwords_know_every_word(tmp_path):
    export_model(sentence_model(), tmp_path / "out")
    model = load(tmp_path / "out")
    assert check_query(model, "florp zzqx").unknown == ()
    found = SentenceEncoder(model).encode(["florp zzqx", ""])
    np.testing.assert_allclose(found[0], model.encode_text("florp zzqx")[0], atol=1e-6)
    assert not found[1].any()
