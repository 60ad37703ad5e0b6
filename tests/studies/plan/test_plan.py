"""Planning: which runs a study needs, and what makes two of them the same."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from polyglance.core import documents
from polyglance.data import CaptionedImage, load_dataset
from polyglance.data.dataset import dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load, load_recipe, parse_overrides
from polyglance.recipes.schema import TrainingRecipe
from polyglance.studies import Study, load_study, make_plan, study_names
from polyglance.studies.format.needs import Need
from polyglance.studies.keys.fingerprint import group_key, run_key
from polyglance.studies.plan import DataFacts, count_runs
from tests.conftest import write_toy
from tests.studies.planted import dataset, facts

ROW = {"name": "union", "recipe": "vsepp"}
ALONE = {
    "name": "alone",
    "recipe": "vsepp",
    "each": ["en", "de"],
    "overrides": {"data.languages": ["$language"]},
}


def study(*rows: dict, **fields: object) -> Study:
    value = {
        "title": "t",
        "paper": "p",
        "columns": [{"name": "*", "language": "*"}],
        "rows": list(rows),
        "profiles": {"standard": {"seeds": 2, "overrides": {"training.epochs": 5}}},
        **fields,
    }
    return Study.model_validate(value)


def test_identical_runs_are_shared_between_rows() -> None:
    twin = {"name": "twin", "recipe": "vsepp", "overrides": ["data.languages=[en]"]}
    plan = make_plan(study(ROW, ALONE, twin), facts=facts(20, ("de", "en")))
    assert len(plan.runs) == 2 + 4
    line = {line.row.name: line for line in plan.lines}
    assert line["twin"].sources[0] == {"en": line["alone"].sources[0]["en"]}
    assert set(line["union"].sources[0]) == {"de", "en"}
    assert len(set(line["union"].sources[0].values())) == 1
    shared = plan.runs[line["twin"].sources[0]["en"]]
    assert shared.labels == ["alone, en, seed 0", "twin, seed 0"]
    assert shared.needs == {Need(None, "en")}


def test_a_star_is_every_language_that_is_not_listed() -> None:
    each = {**ALONE, "each": ["fr", "de", "*", "!uk"]}
    every = {"name": "every", "recipe": "vsepp", "overrides": {"data.languages": ["en"]}}
    one = {"recipe": "vsepp", "languages": ["*"], "overrides": {"data.languages": ["en"]}}
    asked = {"name": "asked", "runs": [one]}
    columns = [{"name": "de", "language": "de"}, {"name": "*", "language": "*"}]
    made = study(each, every, asked, columns=columns)
    plan = make_plan(made, facts=facts(20, ("de", "en", "nl", "uk")))
    assert [column.title for column in plan.columns] == ["de", "en", "nl", "uk"]
    filled = {line.row.name: list(line.sources[0]) for line in plan.lines}
    assert filled["alone"] == ["de", "en", "nl"]
    assert filled["every"] == ["en"]
    assert filled["asked"] == ["de", "en", "nl", "uk"]
    assert len(make_plan(made).runs) == 2 * (2 + 1)


def test_rows_in_languages_that_the_data_lacks_are_left_out() -> None:
    czech = {"name": "czech", "recipe": "vsepp", "overrides": {"data.languages": ["en", "cs"]}}
    complete = {"name": "full", "recipe": "vsepp", "overrides": {"data.complete": ["fr"]}}
    plan = make_plan(study(ROW, czech, complete), facts=facts(20, ("de", "en")))
    assert plan.lacking == {"czech": ["cs"], "full": ["fr"]}
    assert {run.label for run in plan.runs.values()} == {"union, seed 0", "union, seed 1"}
    with pytest.raises(PolyglanceError, match=r"lacks \(cs, fr\); it has de, en"):
        make_plan(study(czech, complete), facts=facts(20, ("de", "en")))


@pytest.mark.parametrize("field", ["fewer_seeds", "few"])  # the latter in version 0.1.0
def test_a_profile_may_give_rows_fewer_seeds(field: str) -> None:
    profiles = {"standard": {"seeds": 3, field: {"al*": 1}}}
    small = study(ROW, ALONE, profiles=profiles)
    plan = make_plan(small, facts=facts(20, ("de", "en")))
    assert {line.row.name: len(line.sources) for line in plan.lines} == {"union": 3, "alone": 1}
    assert (plan.seeds, len(plan.runs)) == (3, 3 + 2)
    assert len(make_plan(small, facts=facts(20, ("de", "en")), seeds=2).runs) == 2 + 4
    with pytest.raises(ValueError, match="a row needs at least one seed"):
        study(ROW, profiles={"standard": {"fewer_seeds": {"union": 0}}})


def test_the_key_is_stable_and_blind_to_names() -> None:
    old = TrainingRecipe(buckets=50)  # the default when runs were first kept
    recipe = Recipe(name="a", paper="b", summary="c", training=old)
    # The key must be the same on every machine and in later versions: runs are kept by it.
    assert run_key(recipe, "data") == "d6aa62c28d4bea9fa699b664"
    other = Recipe(name="x", paper="y", summary="z", training=old)
    assert run_key(other, "data") == "d6aa62c28d4bea9fa699b664"


def test_the_key_changes_with_seed_override_and_data() -> None:
    base = load_recipe("vsepp")
    seed, other = (
        load_recipe("vsepp", parse_overrides(["training.seed=1"])),
        load_recipe("vsepp", parse_overrides(["text.embedder.word_dim=7"])),
    )
    keys = {run_key(base, "a"), run_key(seed, "a"), run_key(other, "a"), run_key(base, "b")}
    assert len(keys) == 4
    assert group_key(base, "a") == group_key(seed, "a") != group_key(other, "a")


def test_the_fingerprint_follows_the_captions() -> None:
    data = dataset(5)
    photos = list(data.images)
    photos[2] = CaptionedImage(photos[2].image, photos[2].split, {"en": {"independent": ["other"]}})
    assert dataset_fingerprint(data) == dataset_fingerprint(dataset(5))
    assert dataset_fingerprint(data) != dataset_fingerprint(replace(data, images=photos))


def test_imported_features_are_part_of_a_run(tmp_path: Path) -> None:
    first = load_dataset(write_toy(tmp_path / "a"))
    second = load_dataset(write_toy(tmp_path / "b", planted=2.0))
    recipe = load_recipe("vsepp", parse_overrides(["image.feature=imported/toy"]))
    assert dataset_fingerprint(first) == dataset_fingerprint(second)
    assert run_key(recipe, "same", first) != run_key(recipe, "same", second)


def test_later_changes_win() -> None:
    profile = {
        "seeds": 1,
        "overrides": {"training.epochs": 5, "text.embedder.word_dim": 5, "text.encoder.hidden": 5},
        "rows": {"un*": {"text.encoder.hidden": 7}},
    }
    row = {**ROW, "overrides": {"text.embedder.word_dim": 6, "text.encoder.hidden": 6}}
    made = study(
        row,
        profiles={"standard": profile},
        overrides=["training.epochs=4", "joint.dim=4", "text.projection=true"],
    )
    (run,) = make_plan(made, overrides={"training.batch_size": 8}).runs.values()
    recipe = run.recipe
    assert (recipe.joint.dim, recipe.training.epochs) == (4, 5)
    sizes = recipe.text.embedder.word_dim, recipe.text.encoder.hidden
    assert (*sizes, recipe.training.batch_size) == (6, 7, 8)


def test_changes_are_made_in_the_rows_chosen_alone() -> None:
    made = study(ROW, ALONE, {"name": "spelt", "recipe": "liwe"})
    known = facts(20, ("de", "en"))
    plain = make_plan(made, facts=known)
    change = {"text.embedder.layers": [12, 10]}
    plan = make_plan(made, facts=known, overrides=change, only="sp*")
    changed = {line.row.name: line.sources for line in plan.lines}
    before = {line.row.name: line.sources for line in plain.lines}
    assert [name for name in before if changed[name] != before[name]] == ["spelt"]


def test_a_curve_expands_rows_over_x_and_the_profile_may_shorten_it() -> None:
    curve = {"path": "training.epochs", "values": [10, 20, 40]}
    profiles = {"standard": {"seeds": 1}, "quick": {"seeds": 1, "x": [1]}}
    flat = {**ROW, "name": "flat", "curve": False}
    made = study(ROW, flat, curve=curve, profiles=profiles)
    plan = make_plan(made)
    assert [line.x for line in plan.lines] == [10, 20, 40, None]
    assert sorted(run.recipe.training.epochs for run in plan.runs.values()) == [10, 20, 30, 40]
    assert len(make_plan(made, "quick").runs) == 2


def test_runs_fill_the_languages_they_name_or_are_trained_on() -> None:
    runs = [
        {"overrides": ["data.languages=[en]"]},
        {"overrides": ["data.languages=[de]"], "languages": ["de", "fr"]},
    ]
    made = study({**ROW, "runs": runs}, profiles={"standard": {"seeds": 1}})
    plan = make_plan(made, facts=facts(10))
    source = plan.lines[0].sources[0]
    assert set(source) == {"en", "de", "fr"}
    assert source["de"] == source["fr"] != source["en"]


def test_columns_follow_the_data() -> None:
    columns = [{"language": code} for code in ("en", "sw")] + [{"average": "human"}]
    plan = make_plan(study(ROW, columns=columns), facts=facts(10, ("de", "en")))
    assert [column.title for column in plan.columns] == ["en mR", "human mR"]
    assert plan.missing == ["sw"]
    with pytest.raises(PolyglanceError, match=r"none of the study's languages \(sw\)"):
        make_plan(study(ROW, columns=columns[1:2]), facts=facts(10))


def test_kinds_come_from_column_row_and_study() -> None:
    columns = [{"language": "en"}, {"name": "own", "language": "en", "kinds": ["independent"]}]
    row = {**ROW, "evaluation": {"kinds": ["translation"]}}
    plan = make_plan(study(row, columns=columns), facts=DataFacts.of(dataset(5), "test"), seeds=1)
    (run,) = plan.runs.values()
    assert run.needs == {Need(("translation",), "en"), Need(("independent",), "en")}


@pytest.mark.parametrize("name", ["gpo-comparators", "liwe-robustness", "translator-curve"])
@pytest.mark.parametrize("profile", ["quick", "standard", "paper"])
def test_runs_are_counted_without_planning_every_seed(name: str, profile: str) -> None:
    named = load_study(name)
    assert count_runs(named, profile) == len(make_plan(named, profile).runs)


def test_listing_reads_every_file_and_resolves_every_recipe_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed, resolved = Counter[str](), Counter[str]()
    parse, resolve = documents._parse, load._load

    def counting_parse(text: str, source: str, *more: object) -> dict:
        parsed[source] += 1
        return parse(text, source, *more)

    def counting_resolve(name: str, overrides: object, *more: bool) -> Recipe:
        assert len(more) == 2
        resolved[json.dumps([name, overrides, more])] += 1
        return resolve(name, overrides, *more)

    documents._packaged.cache_clear()
    load._read_packaged.cache_clear()
    load._packaged.cache_clear()
    monkeypatch.setattr(documents, "_parse", counting_parse)
    monkeypatch.setattr(load, "_load", counting_resolve)
    for _ in range(2):
        for name in study_names():
            listed = load_study(name)
            assert all(count_runs(listed, profile) for profile in listed.profiles)
    assert set(parsed.values()) == set(resolved.values()) == {1}
    known = load._packaged.cache_info()
    assert known.maxsize is not None
    assert known.currsize < known.maxsize / 2


def test_planning_all_seeds_resolves_the_recipes_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = load_study("translator-curve")
    count_runs(listed, "paper")

    def resolve(name: str, *more: object) -> Recipe:
        raise AssertionError(f"{name} is resolved again")

    monkeypatch.setattr(load, "_load", resolve)
    assert len(make_plan(listed, "paper").runs) == count_runs(listed, "paper")


def test_a_row_without_its_pretrained_embedder_is_left_out() -> None:
    plan = make_plan(load_study("liwe-table1"), facts=facts(20, ("en",)), seeds=1)
    assert "--set text.embedder.pretrained=FOLDER" in plan.unavailable["bert-gru"]
    assert {line.row.name for line in plan.lines if any(line.sources)}.isdisjoint({"bert-gru"})
    assert len(plan.runs) == 9
