"""Rows whose queries are translated: one training, judged in several ways."""

import json
from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.evaluation import load_report
from polyglance.recipes import load_recipe
from polyglance.studies import Study, make_plan
from polyglance.studies.fingerprint import nameless
from polyglance.studies.needs import Need, view_of
from polyglance.studies.schema import Row
from polyglance.studies.store import RunFolder
from polyglance.studies.worker import Task, perform
from tests.conftest import TOY, WORDS, write_toy
from tests.studies.planted import facts

AVERAGE = {"translation": {"consistency": "average", "translator": "file:x.tsv"}}
TO_EN = {"translation": {"to": ["en"], "translator": "file:x.tsv"}, "languages": ["de"]}


def rows(**fields: object) -> list[dict]:
    plain = {"name": "plain", "recipe": "vsepp", **fields}
    return [plain, {**plain, "name": "clc", "evaluation": AVERAGE}]


def test_rows_that_differ_in_questions_share_a_training() -> None:
    columns = [{"language": code} for code in ("en", "de")]
    profiles = {"standard": {"seeds": 1}}
    study = Study(title="t", paper="p", profiles=profiles, columns=columns, rows=rows())
    plan = make_plan(study, facts=facts(10))
    (run,) = plan.runs.values()
    view = view_of(study.row("clc"))
    assert json.loads(view)["translation"]["consistency"] == "average"
    assert run.needs == {Need(None, code, how) for code in ("en", "de") for how in ("", view)}


def test_a_translated_row_fills_languages_that_were_not_trained_on() -> None:
    row = {**rows(overrides={"data.languages": ["en"]})[0], "evaluation": TO_EN}
    columns = [{"language": code} for code in ("en", "de")]
    profiles = {"standard": {"seeds": 1}}
    study = Study(title="t", paper="p", profiles=profiles, columns=columns, rows=[row])
    (run,) = make_plan(study, facts=facts(10)).runs.values()
    assert [need.language for need in run.needs] == ["de"]


@pytest.mark.parametrize(
    ("name", "base", "how"),
    [
        ("smalr-clc-a", "smalr", "average"),
        ("smalr-clc-c", "smalr", "learned"),
        ("trans-to-en", "embn", None),
    ],
)
def test_a_recipe_that_translates_trains_what_its_base_does(name: str, base: str, how: str) -> None:
    rows = [{"name": recipe, "recipe": recipe} for recipe in (name, base)]
    profiles = {"standard": {"seeds": 1}}
    columns = [{"language": "en"}]
    study = Study(title="t", paper="p", profiles=profiles, columns=columns, rows=rows)
    (run,) = make_plan(study, facts=facts(10)).runs.values()
    view = json.loads(view_of(study.row(name)))["translation"]
    assert (view["consistency"], view["to"]) == (how, None if how else ["en"])
    assert view_of(study.row(base)) == ""
    assert len({need.view for need in run.needs}) == 2


def test_a_translation_needs_one_language_or_a_consistency() -> None:
    with pytest.raises(ValueError, match="give one language 'to' translate to"):
        Row(name="x", recipe="vsepp", evaluation={"translation": {}})


def test_workers_ask_in_translation(tmp_path: Path) -> None:
    data = write_toy(tmp_path / "toy")
    groups = zip(WORDS["de"], WORDS["en"], strict=True)
    words = {de: en for pair in groups for de, en in zip(*pair, strict=True)}
    texts = dict.fromkeys(load_dataset(data).captions(["de"]).texts)
    table = "".join(f"{text}\t{' '.join(words[w] for w in text.split())}\n" for text in texts)
    (tmp_path / "t.tsv").write_text(f"de\ten\n{table}")
    recipe = nameless(load_recipe("vsepp", [*TOY, "data.languages=[en]"]))
    row = Row(name="x", recipe="vsepp", evaluation=TO_EN)
    view = view_of(row).replace("x.tsv", str(tmp_path / "t.tsv"))
    needs = [Need(None, "de"), Need(None, "de", view)]
    spec = {"recipe": recipe.model_dump(mode="json")}
    task = Task(str(tmp_path / "run"), spec, str(data), "test", needs, str(tmp_path / "cache"))
    assert perform(Task.from_json(task.to_json())) == ""
    folder = RunFolder(tmp_path / "run")
    plain, translated = (load_report(folder.result("test", need)) for need in needs)
    assert translated.similarity == "cosine, translated to en"
    assert translated["de"].metrics.mr > plain["de"].metrics.mr
    assert folder.complete("test", set(needs))
