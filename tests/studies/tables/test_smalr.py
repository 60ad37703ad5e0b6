"""The studies of SMALR share runs with each other and with LIWE's: nothing is trained twice."""

import gzip
from pathlib import Path

import pytest
import yaml

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json
from polyglance.studies import load_study, make_plan
from tests.conftest import TOY, WORDS, write_toy
from tests.studies.planted import facts
from tests.studies.running.test_execute import command

SMALL = [
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.corpus=lexicon",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=8",
    "sampling.pretrain_epochs=1",
    "training.epochs=15",
]
LANGUAGES = ("en", "de", "fr", "cs", "pt", "zh", "ar", "es", "uk", "hi")


def runs(study: str, row: str) -> list[str]:
    """Keys of a row's runs with the first two seeds."""
    plan = make_plan(load_study(study), "standard", facts(20, LANGUAGES), seeds=2)
    line = next(line for line in plan.lines if line.row.name == row)
    return sorted({key for source in line.sources for key in source.values()})


@pytest.mark.parametrize("row", ["small-1", "large-1", "small-4", "large-10"])
def test_rows_of_liwe_are_those_of_its_own_study(row: str) -> None:
    found = runs("smalr-languages", f"liwe-{row}")
    assert len(found) == (4 if row.endswith("-1") else 2)
    assert found == runs("liwe-languages", row)


@pytest.mark.parametrize("study", ["smalr-parameters", "smalr-languages", "smalr-human-vs-mt"])
@pytest.mark.parametrize("row", ["mule-10", "smalr-10", "liwe-small-10"])
def test_rows_of_the_table_are_those_of_other_studies(study: str, row: str) -> None:
    assert runs(study, row) == runs("smalr-table2", row)


@pytest.mark.parametrize("row", ["smalr-plain", "smalr-clc-c-lexicon"])
def test_questions_in_translation_need_no_training_of_their_own(row: str) -> None:
    assert runs("smalr-consistency", row) == runs("smalr-table2", "smalr-10")


def test_thresholds_and_dimensions_stay_apart() -> None:
    names = ["mule-10", "threshold-5", "threshold-50", "pca-50", "pca-200", "dictionary-5"]
    keys = [runs("smalr-parameters", name)[0] for name in names]
    assert len(set(keys)) == len(names)


LOOKED_UP = {
    "title": "t",
    "paper": "p",
    "columns": [
        {"name": "de", "language": "de"},
        {"name": "de MT", "language": "de", "machine": {"translator": "lexicon:,words=$data"}},
    ],
    "rows": [{"name": "mule", "recipe": "mule", "overrides": [*TOY, *SMALL]}],
    "profiles": {"standard": {"seeds": 1}},
}


def test_a_lexicon_serves_vectors_and_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    data, path = write_toy(tmp_path / "toy"), tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(LOOKED_UP))
    words = [path, "--data", data, "--runs", tmp_path / "runs", "--cache", tmp_path / "cache"]
    words += ["--out", tmp_path / "out"]
    with pytest.raises(PolyglanceError, match="corpus=lexicon needs a lexicon"):
        command(*words)
    with pytest.raises(PolyglanceError, match=r"nowhere.tsv: no such file"):
        command(*words, "--lexicon", tmp_path / "nowhere.tsv")
    assert not (tmp_path / "runs").exists()
    both = [zip(*pair, strict=True) for pair in zip(WORDS["en"], WORDS["de"], strict=True)]
    pairs = [pair for group in both for pair in group]
    lines = [f"{n}\ten\t{en}\n{n}\tde\t{de}\n" for n, (en, de) in enumerate(pairs)]
    lexicon = tmp_path / "lexicon.tsv.gz"
    lexicon.write_bytes(gzip.compress("".join(lines).encode()))
    result = command(*words, "--lexicon", lexicon)
    assert result.exit_code == 0, result.output
    report = read_json(tmp_path / "out" / "study.json")
    assert "--lexicon" in report["about"]["command"]
    cells = report["rows"][0]["cells"]
    # Translated word by word, colours are missing in half of the captions.
    assert 40 < cells["de MT"]["mean"] < cells["de"]["mean"]


def test_hem_against_mule_has_every_combination_and_shares_the_tables_runs() -> None:
    known = facts(20, LANGUAGES)
    plan = make_plan(load_study("smalr-hem"), "standard", known, seeds=3)
    assert len(plan.runs) == 7 * 2 * 2 * 3
    recipes = [run.recipe for run in plan.runs.values() if run.recipe is not None]
    losses = {(one.loss.distance, one.sampling.cross_weight) for one in recipes}
    assert losses == {("euclidean", 1.0), ("cosine", 0.05)}
    assert {one.training.updates for one in recipes} == {700, 2800}
    words = [one.text.embedder for one in recipes]
    kinds = [one.rare.assignment.kind if one.rare.kind == "latent" else "" for one in words]
    tokens = {(one.own_dim, kind) for one, kind in zip(words, kinds, strict=True)}
    sizes = [(size, how) for size in (17, 33, 50) for how in ("aligned", "random")]
    assert tokens == {(100, ""), *sizes}
    table = make_plan(load_study("smalr-table2"), "standard", known, seeds=3)
    assert len(plan.runs.keys() & table.runs.keys()) == 9
