"""Study files: what is wrong in one is told with its place and the nearest right word."""

from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.studies import load_study, make_plan, study_names
from polyglance.studies.format.check import comparisons
from polyglance.studies.format.overrides import read_changes
from polyglance.studies.format.schema import Claim
from tests.studies.planted import facts

STUDY = """
title: A table
paper: "Somebody 2018"
columns:
  - {name: en, language: en, direction: t2i, metric: r10}
  - {name: de, language: de, direction: t2i, metric: r10}
rows:
  - name: one
    recipe: vsepp
    each: [en, de]
    overrides: {data.languages: [$language]}
    paper: [1, 2]
  - {name: both, recipe: vsepp, paper: {en: 3.5}, compare_to: one}
claims:
  - {text: More is better, compare: [both > one]}
profiles:
  quick: {seeds: 2, overrides: {training: {epochs: 1}}}
  standard: {}
"""


def write(folder: Path, old: str = "", new: str = "") -> str:
    assert old in STUDY
    path = folder / "table.yaml"
    path.write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    return str(path)


MISTAKES = [
    ("recipe: vsepp, paper", "recipie: vsepp, paper", r"'rows.1.recipie' \(did you mean 'recipe'"),
    ("seeds: 2", "seed: 2", r"'profiles.quick.seed' \(did you mean 'seeds'"),
    ("metric: r10}", "metrik: r10}", r"'columns.0.metrik' \(did you mean 'metric'"),
    ("metric: r10}", "metric: r20}", r"columns.0.metric.*'r20'"),
    ("direction: t2i, ", "", "'columns.0': r10 needs 'direction'"),
    ("metric: r10", "metric: mr", "mr is over both directions"),
    ("language: en, ", "", "use either 'language' or 'average'"),
    ("title: A table", "", "field 'title' is missing"),
    ("compare_to: one", "compare_to: ones", r"no row 'ones' \(did you mean 'one'"),
    ("both > one", "bath > one", r"no row 'bath' \(did you mean 'both'"),
    ("both > one", "both beats one", "'both beats one' is not a comparison"),
    ("{en: 3.5}", "{em: 3.5}", r"row 'both', paper: there is no column 'em'"),
    ("[1, 2]", "[1]", "lists 1 numbers for 2 columns"),
    ("name: both", "name: one", "two rows are called 'one'"),
    ("standard: {}", "standard: {x: [1]}", "profile 'standard' has 'x'"),
    ("standard: {}", "standard: {rows: {bot: {}}}", r"no row matches 'bot' \(did you mean 'both'"),
    ("name: both, recipe: vsepp", "name: both", "row 'both' has no recipe"),
    ("title: A table", "title: [", "line 4: not valid YAML"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_study(write(tmp_path, old, new))


def test_unknown_names_get_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="did you mean 'vsepp-languages'"):
        load_study("vsepp-language")
    study = load_study(write(tmp_path))
    with pytest.raises(PolyglanceError, match=r"unknown profile 'quik' \(did you mean 'quick'"):
        make_plan(study, "quik")


def test_profiles_may_be_shared_between_studies(tmp_path: Path) -> None:
    start = STUDY.index("profiles:")
    path = tmp_path / "table.yaml"
    path.write_text(STUDY[:start] + "profiles: kadar\n")
    assert set(load_study(str(path)).profiles) == {"quick", "standard", "paper"}
    path.write_text(STUDY[:start] + "profiles: kadr\n")
    with pytest.raises(PolyglanceError, match=r"unknown set of profiles 'kadr' .*'kadar'"):
        load_study(str(path))


def test_a_recipe_mistake_names_the_row(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, "data.languages", "data.langages"))
    with pytest.raises(PolyglanceError, match=r"row 'one'.*data.langages.*'languages'"):
        make_plan(study)


def test_overrides_are_lists_or_mappings() -> None:
    nested = {
        "training": {"epochs": 2, "lr": 1e-5},
        "text.encoder.hidden": 8,
        "data": {"kinds": None},
    }
    texts = [
        "training.epochs=2",
        "training.lr=1e-05",
        "text.encoder.hidden=8",
        "data.kinds=null",
    ]
    expected = {
        "training": {"epochs": 2, "lr": 1e-5},
        "text": {"encoder": {"hidden": 8}},
        "data": {"kinds": None},
    }
    assert read_changes(nested) == expected
    assert read_changes(texts) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{training: {epochs: 1}}", "3", "'?profiles.quick.overrides'?.* dictionary"),
        ("{training: {epochs: 1}}", "[training.epochs]", "expected path=value"),
        ("{training: {epochs: 1}}", "{training: 3, training.lr: 1}", "'training' is a value"),
    ],
)
def test_invalid_overrides_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_study(write(tmp_path, old, new))


def test_changes_of_another_kind_are_left_out_and_misspelt_ones_are_not(tmp_path: Path) -> None:
    shared = "{text.embedder.char_dim: 8, text.encoder.heads: 2, transfer.dictionary: identical}"
    study = load_study(write(tmp_path, "{training: {epochs: 1}}", shared))
    assert {run.recipe.text.encoder.kind for run in make_plan(study, "quick").runs.values()} == {
        "gru"
    }
    study = load_study(write(tmp_path, "{training: {epochs: 1}}", "{text.embedder.char_dm: 8}"))
    with pytest.raises(PolyglanceError, match=r"unknown field 'text.embedder.char_dm'"):
        make_plan(study, "quick")


def test_paths_of_version_0_1_0_in_a_study_file_mean_what_they_meant(tmp_path: Path) -> None:
    old = "{text: {hidden: 16, words: 8}, universal.dim: 5, loss.name: infonce, joint.dim: 16}"
    study = load_study(write(tmp_path, "{training: {epochs: 1}}", old))
    planned = [run.recipe for run in make_plan(study, "quick", seeds=1).runs.values()]
    (recipe,) = [one for one in planned if one.data.languages is None]
    assert (recipe.text.encoder.hidden, recipe.text.embedder.word_dim) == (16, 8)
    assert recipe.loss.kind == "infonce"
    with pytest.raises(PolyglanceError, match=r"'text.hidden' is now 'text.encoder.hidden'"):
        make_plan(study, "quick", overrides={"text.hidden": 16})


def test_comparisons_are_read() -> None:
    claim = Claim(text="", compare=["a + b > c", "a >= c", "a ≥ b"])
    assert comparisons(claim) == [("a + b", ">", "c"), ("a", ">=", "c"), ("a", ">=", "b")]


def test_the_example_of_the_documentation_can_be_planned(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")
    path = tmp_path / "example.yaml"
    path.write_text(guide.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    plan = make_plan(load_study(str(path)), facts=facts(10), seeds=1)
    assert [len(set(line.sources[0].values())) for line in plan.lines] == [2, 1, 2]
    assert plan.study.profiles["standard"].overrides == {
        "text": {"encoder": {"hidden": 256}},
        "joint": {"dim": 256},
    }


def test_the_measured_example_of_the_documentation_can_be_planned(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")
    path = tmp_path / "example.yaml"
    path.write_text(guide.rpartition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    plan = make_plan(load_study(str(path)))
    assert len(plan.runs) == 2 * 2 * 3
    assert {run.trial.settings.steps for run in plan.runs.values()} == {2000}


@pytest.mark.parametrize("name", study_names())
def test_the_studies_of_the_package_can_be_planned(name: str) -> None:
    study = load_study(name)
    assert {"quick", "standard", "paper"} <= set(study.profiles)
    for profile in study.profiles:
        assert make_plan(study, profile).runs
