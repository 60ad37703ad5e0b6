"""Perturbers of a dataset's captions, in evaluations and on the command line."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.data import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate, load_report
from polyglance.evaluation.perturb import Perturbation, make_perturber, perturbation_tag
from polyglance.storage.files import write_json
from tests.conftest import write_toy
from tests.evaluation.conftest import FakeModel, make_dataset, make_vectors
from tests.training.runs import run

LEXICON = """\
1\ten\tdog|hound
1\tde\tHund
2\ten\tcat|feline|big cat
2\tde\tkatze|mieze
3\ten\ttree
3\tde\tBaum
4\tfr\tchien
"""


def make_lexicon(folder: Path, text: str = LEXICON) -> Path:
    path = folder / "lexicon.tsv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def dataset() -> Dataset:
    def photo(number: int, split: str) -> CaptionedImage:
        english = ["A dog near a cat, and a tree.", "two dogs"]
        captions = {"en": {"independent": english}, "de": {"independent": ["Hund und Katze"]}}
        return CaptionedImage(f"{number}.jpg", split, captions)

    return Dataset([photo(n, "test" if n % 3 else "train") for n in range(9)], Path("i"), "toy")


def test_typos_touch_long_words_alone() -> None:
    texts, found = make_perturber("typos:1", dataset())(["A dog near a cat."], "en")
    words = texts[0].rstrip(".").split()
    assert (words[0], words[3]) == ("A", "a")
    assert all(new != old for new, old in zip(words[1:3], ["dog", "near"], strict=True))
    assert (found.words, found.changed) == (5, 3)
    assert texts[0].endswith(".")


def test_the_same_text_is_perturbed_alike_in_any_company() -> None:
    perturb = make_perturber("typos:0.5", dataset())
    texts = [f"horses gallop over field number {word}" for word in ("seven", "eight", "nine")]
    together = perturb(texts, "en")[0]
    assert [perturb([text], "en")[0][0] for text in texts] == together
    assert make_perturber("typos:0.5", dataset())(texts[::-1], "en")[0] == together[::-1]
    assert make_perturber("typos:0.5", dataset(), seed=1)(texts, "en")[0] != together


def test_unseen_words_are_synonyms_that_training_lacks(tmp_path: Path) -> None:
    perturb = make_perturber("unseen:1", dataset(), make_lexicon(tmp_path))
    assert perturb(["A Dog, a cat and a tree"], "en")[0] == ["A hound, a feline and a tree"]
    assert perturb(["Hund und Katze"], "de")[0] == ["Hund und mieze"]


def test_switched_words_are_ones_that_training_has(tmp_path: Path) -> None:
    lexicon = make_lexicon(tmp_path)
    texts = ["a dog, a cat and a tree"]
    assert make_perturber("code-switch:1", dataset(), lexicon)(texts, "en")[0] == [
        "a hund, a katze and a tree"
    ]
    named = make_perturber("code-switch:1:fr", dataset(), lexicon)
    assert named(texts, "en")[0] == ["a dog, a cat and a tree"]
    with pytest.raises(PolyglanceError, match="no other language than 'fr'"):
        named(["le chien"], "fr")
    with pytest.raises(PolyglanceError, match="has no words of 'it'"):
        make_perturber("code-switch:1:it", dataset(), lexicon)(texts, "en")


def test_a_missing_or_damaged_lexicon_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"--lexicon, or set \$POLYGLANCE_LEXICON"):
        make_perturber("unseen:1", dataset())
    with pytest.raises(PolyglanceError, match="no such file"):
        make_perturber("unseen:1", dataset(), tmp_path / "none.gz")
    damaged = make_lexicon(tmp_path, "1\ten\n")
    with pytest.raises(PolyglanceError, match="line 1: expected synset"):
        make_perturber("unseen:1", dataset(), damaged)(["dog"], "en")


def test_results_are_kept_by_kind_and_lexicon(tmp_path: Path) -> None:
    typos, unseen = Perturbation.parse("typos:0.2"), Perturbation.parse("unseen:1")
    assert perturbation_tag(typos, None) == perturbation_tag(typos, make_lexicon(tmp_path))
    before = perturbation_tag(unseen, make_lexicon(tmp_path))
    (tmp_path / "more").mkdir()
    assert perturbation_tag(unseen, make_lexicon(tmp_path / "more", "1\ten\tdog\n")) != before


def test_an_evaluation_says_what_was_changed(tmp_path: Path) -> None:
    data = make_dataset(counts={"en": 2})
    model = FakeModel(make_vectors(data), noise=0.5)

    class Deaf:
        """Ignores all but the image's number, which typos leave alone."""

        encode_dataset = model.encode_dataset

        def encode_text(self, texts: list[str], *_: object, **__: object) -> np.ndarray:
            seen.extend(texts)
            return np.stack([model.images[f"{text.split('.')[0]}.jpg"] for text in texts])

    seen: list[str] = []
    report = evaluate(Deaf(), data, bootstrap=0, perturb=make_perturber("typos:1", data))
    assert report["en"].metrics.text_to_image.r1 == 100
    assert all(".jpg " not in text for text in seen)
    write_json(tmp_path / "r.json", report.as_dict(ranks=True))
    found = load_report(tmp_path / "r.json")["en"].perturbed
    assert found == report["en"].perturbed
    assert found is not None
    assert (found.name, found.words, found.changed) == ("typos:1", 48, 24)
    assert evaluate(Deaf(), data, bootstrap=0, perturb="typos:1")["en"].perturbed == found


def test_the_command(tmp_path: Path) -> None:
    from polyglance.cli import app

    data = write_toy(tmp_path / "toy")
    run(data, tmp_path / "run", "training.epochs=1")
    words = ["--data", str(data), "--bootstrap", "0"]
    lexicon = ["--lexicon", str(make_lexicon(tmp_path))]
    words += ["--json", str(tmp_path / "r.json")]
    outputs, shown = [], []
    for more in ([], ["--perturb", "typos:1"], ["--perturb", "code-switch:1", *lexicon]):
        done = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run"), *words, *more])
        assert done.exit_code == 0, done.output
        shown.append(done.stdout)
        outputs.append(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))
    assert "perturbed" not in outputs[0]["languages"]["en"]
    assert outputs[1]["languages"]["en"]["perturbed"]["name"] == "typos:1"
    assert outputs[1]["languages"]["en"]["mr"] != outputs[0]["languages"]["en"]["mr"]
    assert "captions with typos:1; % of words changed: de 100, en" in shown[1]
    ranks = ["evaluate", "r.json", "--data", str(data), "--perturb", "typos:0.2"]
    refused = CliRunner().invoke(app, ranks)
    assert "contains ranks, but --perturb changes captions" in str(refused.exception)
