"""`--plan`: what each row trains on, how long, and what is missing here."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.models.parameters import count_parameters
from polyglance.studies import Study, load_study, make_plan, study_names
from polyglance.studies.plan import DataFacts
from polyglance.studies.running.execute import Options
from polyglance.studies.running.forecast import Forecast, forecasts, size_gaps
from polyglance.studies.running.store import RunOutcome
from tests.conftest import write_toy

BERT = {"text": {"embedder": {"kind": "pieces"}, "encoder": {"kind": "transformer"}}}
STUDY: dict[str, Any] = {
    "title": "t",
    "paper": "p",
    "columns": [{"name": "*", "language": "*"}],
    "overrides": {"image.feature": "imported/toy"},
    "rows": [
        {
            "name": "alone",
            "recipe": "vse0",
            "each": ["en", "de"],
            "overrides": {"data.languages": ["$language"]},
        },
        {"name": "tuples", "recipe": "mule", "overrides": {"text.embedder.corpus": "lexicon"}},
        {
            "name": "elsewhere",
            "recipe": "vse-infinity",
            "overrides": {"image.feature": "imported/butd", "data.languages": ["en"]},
            "by_profile": {"paper": BERT},
        },
        {"name": "polish", "recipe": "vse0", "overrides": {"data.languages": ["pl"]}},
    ],
    "profiles": {
        "standard": {"seeds": 2},
        "paper": {"seeds": 3, "folds": 5, "sizes": {"train": 29_000}},
    },
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    return write_toy(tmp_path / "toy")


def rows(toy: Path, profile: str, runs: Path) -> dict[tuple[str, str | None], Forecast]:
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    plan = make_plan(Study.model_validate(STUDY), profile, facts, lenient=True)
    return {(one.row, one.each): one for one in forecasts(plan, facts, Options("toy", runs))}


def test_rows_say_what_they_train_on(toy: Path, tmp_path: Path) -> None:
    found = rows(toy, "standard", tmp_path / "runs")
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    train = facts.dataset.split("train")
    english = found["alone", "en"]
    assert (english.images, english.captions) == (len(train), {"en": 2 * len(train)})
    assert english.feature == "imported/toy"
    assert english.updates == 30 * -(-2 * len(train) // 128)
    plan = make_plan(Study.model_validate(STUDY), facts=facts, lenient=True)
    assert english.parameters == count_parameters(plan.recipes["alone"][0][1], None, 16)
    assert english.missing == []
    # An epoch of tuples passes over the captions of the language that has most.
    assert found["tuples", None].updates == 25 * max(1, 2 * len(train) // 450)


def test_rows_say_what_is_missing_also_those_that_cannot_be_run(toy: Path, tmp_path: Path) -> None:
    found = rows(toy, "paper", tmp_path / "runs")
    missing = "; ".join(found["elsewhere", None].missing)
    assert "features imported/butd" in missing
    assert "a pretrained text encoder" in missing
    assert found["tuples", None].missing == ["text.embedder.lexicon: no file is specified"]
    assert found["polish", None].missing == ["captions in pl"]
    assert found["polish", None].updates is None
    standard = rows(toy, "standard", tmp_path / "runs")
    assert "encoder" not in "; ".join(standard["elsewhere", None].missing)


def test_times_are_estimated_from_a_finished_run(toy: Path, tmp_path: Path) -> None:
    facts, runs = DataFacts.of(load_dataset(str(toy)), "test"), tmp_path / "runs"
    plan = make_plan(Study.model_validate(STUDY), facts=facts, lenient=True)
    options = Options("toy", runs)
    first = next(run for run in plan.runs.values() if run.labels == ["alone, en, seed 0"])
    assert not rows(toy, "standard", runs)["alone", "en"].measured
    options.folder(first).finish(RunOutcome(98.0))
    found = rows(toy, "standard", runs)
    assert (found["alone", "en"].seconds, found["alone", "en"].measured) == (100.0, True)
    assert not found["alone", "de"].measured


def test_a_profile_has_the_papers_folds_and_sizes(toy: Path) -> None:
    facts, study = DataFacts.of(load_dataset(str(toy)), "test"), Study.model_validate(STUDY)
    paper, standard = (
        make_plan(study, name, facts, lenient=True) for name in ("paper", "standard")
    )
    assert (paper.study.evaluation.folds, standard.study.evaluation.folds) == (5, 1)
    assert size_gaps(standard, facts) == []
    count = len(facts.dataset.split("train"))
    assert size_gaps(paper, facts) == [f"split train has {count} images here, 29,000 in the paper"]


def test_one_vector_of_an_image_takes_less_time_than_a_set(toy: Path) -> None:
    """Imported ones were all taken to be sets, and their times three times as long."""
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    seconds = {}
    for feature in ("imported/resnet152", "imported/butd", "imported/toy"):
        value = {**STUDY, "overrides": {"image.feature": feature}, "rows": STUDY["rows"][:1]}
        plan = make_plan(Study.model_validate(value), "standard", facts, lenient=True)
        one = forecasts(plan, facts, Options("toy", toy / "runs"))[0]
        assert one.seconds is not None
        seconds[feature] = one.seconds
    assert seconds["imported/butd"] > 2 * seconds["imported/resnet152"]
    assert seconds["imported/toy"] < seconds["imported/resnet152"]  # 16 instead of 2,048 numbers


def test_time_grows_with_the_captions_of_a_batch(toy: Path) -> None:
    """A batch of MULE has two captions of each image in every language."""
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    rows = [
        {"name": str(n), "recipe": "mule", "overrides": {"data.languages": codes}}
        for n, codes in enumerate((["en"], ["en", "de"]))
    ]
    value = {**STUDY, "overrides": {"image.feature": "imported/toy"}, "rows": rows}
    plan = make_plan(Study.model_validate(value), "standard", facts, lenient=True)
    one, two = forecasts(plan, facts, Options("toy", toy / "runs"))
    assert one.seconds is not None
    assert two.seconds is not None
    assert one.updates == two.updates
    assert 1.4 * one.seconds < two.seconds < 2 * one.seconds


@pytest.mark.parametrize(
    ("recipe", "epoch"), [("liwe-joint", 1), ("gella-parallel-sym", 1), ("kadar-bilingual-c2c", 2)]
)
def test_updates_of_languages_that_meet_in_captions(recipe: str, epoch: int, toy: Path) -> None:
    """German is in no image's batch with liwe-joint, so that it needs its caption pairs."""
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    rows = [{"name": "both", "recipe": recipe, "overrides": {"training.batch_size": 8}}]
    value = {**STUDY, "overrides": {"image.feature": "imported/toy"}, "rows": rows}
    plan = make_plan(Study.model_validate(value), "standard", facts, lenient=True)
    one = forecasts(plan, facts, Options("toy", toy / "runs"))[0]
    assert one.updates is not None
    assert one.epochs is not None
    assert one.updates >= epoch * int(one.epochs)


def test_features_that_are_missing_have_the_dimension_of_the_papers_network(toy: Path) -> None:
    facts = DataFacts.of(load_dataset(str(toy)), "test")
    own = {"data.complete": None, "data.kinds": None}
    plan = make_plan(load_study("kadar-table2"), "paper", facts, 1, own, lenient=True)
    found = {one.row: one for one in forecasts(plan, facts, Options("toy", toy / "runs"))}
    for row, dim in {"vse": 4096, "monolingual": 2048}.items():
        assert found[row].parameters == count_parameters(plan.recipes[row][0][1], None, dim)


def test_the_command_prints_rows_and_json(toy: Path, tmp_path: Path) -> None:
    words = ["study", "kadar-table4", "--data", str(toy), "--profile", "paper", "--plan"]
    words += ["--runs", str(tmp_path / "runs"), "--cache", str(tmp_path / "cache")]
    words += ["--set", "data.complete=null", "--set", "data.kinds=null"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "features imported/resnet50" in result.output
    assert "1,000 in the paper" in result.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert told["profile"] == "paper"
    row = next(one for one in told["rows"] if one["row"] == "translation")
    assert row["feature"] == "imported/resnet50"
    assert row["updates"] > 0
    assert row["parameters"] > 8_000_000
    assert row["missing"] == ["features imported/resnet50 (polyglance data convert)"]
    assert not (tmp_path / "runs").exists()


PAPERS = {
    "kadar": ("imported/resnet50", "imported/vgg19"),
    "liwe": ("imported/butd",),
    "smalr": ("imported/resnet152", "imported/butd"),
    "gpo": ("imported/",),
    "translator": ("imported/resnet152",),
}


@pytest.mark.parametrize("name", [n for n in study_names() if n.split("-")[0] in PAPERS])
def test_the_paper_profile_names_the_papers_features_and_loss(name: str) -> None:
    study = load_study(name)
    if study.experiment is not None:
        return
    wanted = PAPERS[name.split("-")[0]]
    for run in make_plan(study, "paper", seeds=1).runs.values():
        if run.recipe is None:
            continue
        assert run.recipe.image.feature.startswith(wanted)
        # No code of these papers takes captions of one image out of the negatives.
        assert not getattr(run.recipe.loss, "mask_same_image", False)
        assert run.recipe.training.buckets == 1
