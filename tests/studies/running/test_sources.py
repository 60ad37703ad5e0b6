"""Runs that start from other runs: planned once, run in order, told where the source failed."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.studies import Study, load_study, make_plan
from polyglance.studies.format.check import check_references
from polyglance.studies.plan import RUN, DataFacts
from polyglance.studies.running.execute import _stages
from polyglance.studies.running.store import CRASH, RunFolder
from polyglance.studies.running.worker import Task, perform
from tests.conftest import TOY, write_toy

SMALL = [
    *TOY,
    "text.embedder.word_dim=12",
    "text.encoder.heads=2",
    "text.encoder.head_dim=4",
    "training.epochs=8",
]
TRANSFER = {"source": "source:en", "dictionary": "captions", "method": "svd"}
VALUE = {
    "title": "Curves",
    "paper": "Nobody 2019",
    "overrides": SMALL,
    "sources": {"en": {"recipe": "translator", "overrides": {"data.languages": ["en"]}}},
    "columns": [{"language": "de", "metric": "mr"}],
    "curve": {"path": "data.photos", "values": [0, 20]},
    "rows": [
        {
            "name": f"T{number}",
            "recipe": "translator",
            "overrides": {
                "data.languages": ["de"],
                "transfer": {**TRANSFER, "translator": translator},
            },
        }
        for number, translator in ((1, "random"), (2, "aligned"))
    ],
    "claims": [{"text": "aligned is better", "compare": ["T2 > T1"]}],
    "profiles": {"standard": {"seeds": 2, "rows": {"source en": {"training.epochs": 10}}}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("data") / "toy")


def plan(data: Path, value: dict = VALUE, overrides: dict | None = None):
    study = Study.model_validate(value)
    check_references(study, "here")
    return make_plan(
        study, "standard", DataFacts.of(load_dataset(str(data)), "test"), 2, overrides or {}
    )


def test_every_seed_has_one_source_for_all_rows_and_x(data: Path) -> None:
    made = plan(data)
    sources = [run for run in made.runs.values() if run.labels[0].startswith("source en")]
    others = [run for run in made.runs.values() if run not in sources]
    assert [run.recipe.training.seed for run in sources] == [0, 1]
    assert {run.recipe.training.epochs for run in sources} == {10}
    assert {run.recipe.training.epochs for run in others} == {8}
    assert len(others) == 2 * 2 * 2
    for run in others:
        (own,) = [s for s in sources if s.recipe.training.seed == run.recipe.training.seed]
        assert run.source == own.key
        assert run.recipe.transfer.source == f"{RUN}{own.key}"
        assert own.rows == {"T1", "T2"}
    assert len({run.group for run in others}) == 4
    assert [set(map(id, stage)) for stage in _stages(list(made.runs.values()))] == [
        set(map(id, sources)),
        set(map(id, others)),
    ]
    changed = plan(data, overrides={"training.lr": 0.02})
    assert not set(changed.runs) & set(made.runs)


def test_the_error_for_an_unknown_source_names_the_nearest(data: Path) -> None:
    value = {**VALUE, "sources": {"end": VALUE["sources"]["en"]}, "profiles": {"standard": {}}}
    with pytest.raises(PolyglanceError, match=r"no source 'en' \(did you mean 'end'"):
        plan(data, value)
    wrong = {**VALUE, "profiles": {"standard": {"rows": {"source fr": {"training.lr": 1}}}}}
    with pytest.raises(PolyglanceError, match="no row matches 'source fr'"):
        plan(data, wrong)


def test_a_run_waits_for_its_source(data: Path, tmp_path: Path) -> None:
    run = next(run for run in plan(data).runs.values() if run.source is not None)
    folder = RunFolder(tmp_path / run.key)
    task = Task(str(folder.path), run.as_dict(), str(data), "test", [(None, "de")])
    assert perform(task) == f"the run it starts from, {run.source}, has not been done"
    assert folder.failure().kind == CRASH  # so that the same command tries it again
    assert not folder.model.exists()


def test_the_command_runs_sources_first(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "curves.yaml"
    path.write_text(yaml.safe_dump(VALUE), encoding="utf-8")
    words = ["study", path, "--data", data, "--out", tmp_path / "out", "--runs", tmp_path / "runs"]
    words += ["--cache", tmp_path / "cache", "--seeds", 1, "--rows", "T2"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "out" / "curves.json").read_text(encoding="utf-8"))
    cells = {(row["row"], row["x"]): row["cells"]["de mR"]["mean"] for row in found["rows"]}
    assert cells["T2", 0] > 60
    assert cells["T2", 20] > 60
    assert cells["T1", 0] is None
    labels = [run["labels"][0] for run in found["runs"].values() if "finished" in run]
    assert labels == ["source en, seed 0", "T2, 0, seed 0", "T2, 20, seed 0"]
    again = CliRunner().invoke(app, [str(word) for word in [*words, "--plan"]])
    assert "0 of 3 runs to do" in again.output


@pytest.mark.parametrize("name", ["translator-curve", "zero-shot-languages"])
@pytest.mark.parametrize("profile", ["quick", "standard", "paper"])
def test_studies_can_be_planned_on_data_with_their_languages(name: str, profile: str) -> None:
    from tests.studies.planted import dataset

    languages = ("ar", "cs", "de", "en", "es", "fr", "hi", "pt", "uk", "zh")
    known = DataFacts.of(dataset(20, languages), "test")
    study = load_study(name)
    own = {"text.embedder.vectors": None}  # not fastText's, which are not here
    made = make_plan(study, profile, known, overrides=own if profile == "paper" else {})
    assert all(run.source in made.runs for run in made.runs.values() if run.source)
    filled = [line for line in made.lines if line.sources[0]]
    assert len(filled) == len(made.lines)
    zero = [run for run in made.runs.values() if run.recipe.data.images == 0]
    assert zero
    if name == "zero-shot-languages":
        assert all(run.recipe.transfer.keep for run in zero)
