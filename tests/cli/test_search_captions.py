"""The command, from images to texts and in all languages at once."""

import json

import pytest
from PIL import Image

from polyglance.errors import PolyglanceError
from tests.cli.test_search import save_model

pytestmark = pytest.mark.usefixtures("thumbnails")


@pytest.fixture
def made(tmp_path):
    for name in ("red", "blue"):
        Image.new("RGB", (30, 20), name).save(tmp_path / f"{name}.png")
    (tmp_path / "captions.txt").write_text("red dog\nhund\ndog\n")
    return save_model(tmp_path / "model"), tmp_path


def test_lines_of_score_and_caption_on_a_pipe(run, made):
    model, folder = made
    captions = ["--captions", folder / "captions.txt"]
    one = run("search", model, folder / "red.png", *captions, "--top", "2").stdout.splitlines()
    assert [line.count("\t") for line in one] == [1, 1]
    assert float(one[0].split("\t")[0]) >= float(one[1].split("\t")[0])
    two = run("search", model, folder / "red.png", folder / "blue.png", *captions).stdout
    rows = [line.split("\t") for line in two.splitlines()]
    assert [row[2] for row in rows] == [str(folder / "red.png")] * 3 + [
        str(folder / "blue.png")
    ] * 3
    assert {row[1] for row in rows} == {"red dog", "hund", "dog"}


def test_json_and_sheet(run, made):
    model, folder = made
    captions = ["--captions", folder / "captions.txt", "--top", "1"]
    outputs = ["--json", "-", "--sheet", folder / "sheet.png"]
    found = json.loads(run("search", model, folder / "red.png", *captions, *outputs).stdout)
    assert found["score_kind"] == "cosine"
    assert found["captions"] == 3
    assert [list(hit) for hit in found["images"][0]["hits"]] == [
        ["rank", "score", "caption", "language"]
    ]
    assert Image.open(folder / "sheet.png").format == "PNG"


def test_invalid_input_is_refused(run, made):
    model, folder = made
    with pytest.raises(
        PolyglanceError, match="pass at least one sentence, --like IMAGE, or --captions FILE"
    ):
        run("search", model, folder)
    options = ["--captions", folder / "captions.txt", "--consistency"]
    with pytest.raises(PolyglanceError, match="--captions cannot be combined with --translator"):
        run("search", model, folder / "red.png", *options)
    with pytest.raises(PolyglanceError, match="--split needs --captions"):
        run("search", model, folder, "dog", "--split", "test")


def test_queries_in_all_languages(run, made):
    model, folder = made
    (folder / "t.jsonl").write_text('{"fr": "chien", "en": "dog", "de": "hund"}\n')
    translator = ["--language", "fr", "--translator", f"file:{folder / 't.jsonl'}"]
    found = run("search", model, folder, "chien", *translator, "--consistency")
    assert "'chien' is also searched for as de 'hund', en 'dog'" in found.stderr
    each = {
        code: dict(reversed(line.split("\t")) for line in lines.splitlines())
        for code, lines in (
            (code, run("search", model, folder, word, "--language", code).stdout)
            for code, word in (("de", "hund"), ("en", "dog"))
        )
    }
    for line in found.stdout.splitlines():
        score, path = line.split("\t")
        mean = (float(each["de"][path]) + float(each["en"][path])) / 2
        assert float(score) == pytest.approx(mean, abs=1.1e-4)
