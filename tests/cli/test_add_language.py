"""The command on a generated dataset: a language is added, and all else stays as it was."""

import json
import re

import numpy as np
import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from tests.conftest import TOY, write_toy

DATA = "generated:photos=240"
SMALL = [
    "text.encoder.hidden=32",
    "joint.dim=32",
    "text.embedder.min_count=1",
    "text.embedder.word_dim=24",
]
SMALL += ["training.epochs=10", "training.batch_size=32", "training.lr=0.01"]
SMALL += ["loss.kind=sum-hinge", "loss.mask_same_image=true"]


@pytest.fixture(scope="module")
def english(thumbnails, run, tmp_path_factory):
    """An English model of the generated world."""
    out = tmp_path_factory.mktemp("english") / "en"
    sets = [word for change in SMALL for word in ("--set", change)]
    run("train", "vsepp", "--data", DATA, "--languages", "en", "--out", out, *sets)
    return out


def table(text):
    rows = (re.findall(r"[\w.]+", line) for line in text.splitlines())
    return {row[0]: float(row[-1]) for row in rows if len(row) == 8 and row[0].isalpha()}


def test_a_language_is_added_searched_and_evaluated(english, run, tmp_path):
    old = Model.load(english)
    named = ("--language", "fr", "--dictionary", f"captions:{DATA}")
    shown = run("add-language", english, *named, "--evaluate", DATA, "--out", tmp_path / "fr")
    gained = table(shown.stdout)
    assert gained["dictionary"] > gained["before"] + 10
    assert "en: unchanged, all" in shown.stdout
    new = Model.load(tmp_path / "fr")
    assert new.languages == ["en", "fr"]
    texts = ["a red dog on the grass", "two cats", "zebra crossing"]
    np.testing.assert_array_equal(old.encode_text(texts, "en"), new.encode_text(texts, "en"))
    np.testing.assert_array_equal(old.encode_text(texts), new.encode_text(texts))

    judged = tmp_path / "judged.json"
    run("evaluate", tmp_path / "fr", "--data", DATA, "--json", judged, "--bootstrap", 0)
    before = tmp_path / "before.json"
    run("evaluate", english, "--data", DATA, "--json", before, "--bootstrap", 0)
    by_code = [json.loads(path.read_text())["languages"] for path in (before, judged)]
    assert by_code[0]["en"]["mr"] == by_code[1]["en"]["mr"]
    assert by_code[1]["fr"]["mr"] == pytest.approx(gained["dictionary"], abs=0.06)

    found = run("search", tmp_path / "fr", DATA, "un chien", "--language", "fr", "--top", 3)
    assert len(found.stdout.splitlines()) == 3


def test_few_pairs(english, run, tmp_path):
    (tmp_path / "pairs.txt").write_text("chien dog\nchat cat\n", encoding="utf-8")
    named = ("--language", "fr", "--dictionary", tmp_path / "pairs.txt", "--data", DATA)
    shown = run(
        "add-language", english, *named, "--pairs", 100, "--epochs", 5, "--out", tmp_path / "fr"
    )
    gained = table(shown.stdout)
    assert gained["pairs"] > gained["dictionary"] + 5
    assert "split val" in shown.stdout


def test_a_language_with_a_region(english, run, tmp_path):
    (tmp_path / "pairs.txt").write_text("cachorro dog\ngato cat\n", encoding="utf-8")
    named = ("--language", "pt-BR", "--dictionary", tmp_path / "pairs.txt")
    run("add-language", english, *named, "--out", tmp_path / "both")
    new = Model.load(tmp_path / "both")
    assert new.languages == ["en", "pt-BR"]
    added, known = new.encode_text(["Cachorros"], "pt-BR"), new.encode_text(["dog"], "en")
    np.testing.assert_allclose(added, known, rtol=1e-5, atol=1e-6)


def test_vectors_of_the_new_language_for_a_model_of_fixed_ones(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))
    toy = write_toy(tmp_path / "toy")
    sets = [
        *(change for change in TOY if "min_count" not in change),
        "text.embedder.word_dim=12",
        "text.encoder.heads=2",
        "text.encoder.head_dim=4",
        "training.epochs=12",
    ]
    changes = [word for change in sets for word in ("--set", change)]
    run("train", "translator", "--data", toy, "--out", tmp_path / "en", *changes)
    named = ("--language", "de", "--dictionary", f"captions:{toy}", "--evaluate", toy)
    shown = run("add-language", tmp_path / "en", *named, "--out", tmp_path / "both")
    gained = table(shown.stdout)
    assert gained["dictionary"] > 60
    with pytest.raises(PolyglanceError, match="has neither de"):
        run("add-language", tmp_path / "en", *named, "--vectors", toy, "--out", tmp_path / "no")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--language", "f r"], "expected a language tag"),
        (["--language", "en"], "already has 'en'"),
        (["--language", "fr", "--method", "magic"], "expected svd or rcsls"),
        (["--language", "fr", "--lr", "0"], "expected a number above 0"),
        (["--language", "fr", "--pairs", "3"], "--pairs needs captions to train on in --data"),
        (["--language", "fr", "--lr", "0.1"], "--lr needs captions"),
        (["--language", "fr", "--epochs", "3"], "--epochs needs captions"),
        (["--language", "fr", "--resume"], "--resume needs captions"),
        (["--language", "fr", "--split", "val"], "--split needs a dataset in --evaluate"),
        (["--language", "xx", "--evaluate", DATA], "no captions in language 'xx'"),
        (["--language", "fr", "--dictionary", "none.txt"], "no such file"),
    ],
)
def test_mistakes(english, run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolyglanceError, match=message):
        run("add-language", english, *words, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over(english, run, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_text("mine")
    named = ("--language", "fr", "--dictionary", f"captions:{DATA}")
    with pytest.raises(PolyglanceError, match="not empty"):
        run("add-language", english, *named, "--out", tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
