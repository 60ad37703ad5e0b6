"""Documents of the package are read once, those of users whenever they are asked for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from polyglance.core import documents
from polyglance.recipes import load_recipe
from polyglance.recipes.load import PACKAGE
from polyglance.studies.format.load import PACKAGE as STUDIES

START = "name: a\npaper: b\nsummary: c\n"

COUNT = """
import collections, json, sys, yaml
opened, parsed = collections.Counter(), collections.Counter()
def hook(event, args):
    if event == "open" and str(args[0]).endswith(".yaml"):
        opened[str(args[0])] += 1
sys.addaudithook(hook)
load = yaml.load
def counted(text, *rest):
    parsed[text] += 1
    return load(text, *rest)
yaml.load = counted
from polyglance.studies import load_study, make_plan, study_names
runs = 0
for name in study_names():
    study = load_study(name)
    for profile in study.profiles:
        runs += len(make_plan(study, profile).runs)
print(json.dumps({"opened": opened, "parsed": list(parsed.values()), "runs": runs}))
"""


def test_planning_every_study_reads_and_parses_nothing_twice() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout)
    recipes = {name for name in found["opened"] if Path(name).parent.name == "recipes"}
    assert len(recipes) > 10
    assert found["runs"] > 1000
    assert set(found["opened"].values()) == {1}
    assert set(found["parsed"]) == {1}


def test_a_users_recipe_and_its_base_are_reread(tmp_path: Path) -> None:
    base, mine = tmp_path / "base.yaml", tmp_path / "mine.yaml"
    mine.write_text(f"name: mine\nbase: {base}\n")
    base.write_text(START + "training:\n  lr: 0.5\n")
    assert load_recipe(str(mine)).training.lr == 0.5
    base.write_text(START + "training:\n  lr: 0.25\n")
    assert load_recipe(str(mine)).training.lr == 0.25
    mine.write_text(f"name: mine\nbase: {base}\ntraining:\n  lr: 0.125\n")
    assert load_recipe(str(mine)).training.lr == 0.125


def test_overrides_stay_with_the_recipe_that_they_were_given_for() -> None:
    before = load_recipe("vsepp")
    changed = load_recipe("vsepp", {"data.languages": ["en", "de"], "training.lr": 0.125})
    assert (changed.data.languages, changed.training.lr) == (["en", "de"], 0.125)
    assert load_recipe("vsepp") == before != changed
    assert load_recipe("vsepp", {"data.languages": ["en", "de"]}).data.languages == ["en", "de"]


@pytest.mark.parametrize("package", [PACKAGE, STUDIES])
def test_a_document_that_was_read_is_the_readers_own(package: str) -> None:
    for name in documents.document_names(package):
        _, first = documents.read_document(name, package, "document")
        expected = json.dumps(first)
        _empty(first)
        assert json.dumps(documents.read_document(name, package, "document")[1]) == expected


def _empty(value: object) -> None:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _empty(item)
        value.clear()


@pytest.mark.parametrize("loader", [documents._Loader, documents._PackageLoader])
def test_both_loaders_have_both_rules(loader: type[yaml.SafeLoader]) -> None:
    text = "[no, yes, on, off, true, False]"
    assert yaml.load(text, loader) == ["no", "yes", "on", "off", True, False]
    with pytest.raises(yaml.YAMLError, match="'a' occurs twice") as caught:
        yaml.load("b: {c: 1}\na: 1\na: 2\n", loader)
    assert caught.value.problem_mark.line == 2


@pytest.mark.parametrize("package", [PACKAGE, STUDIES])
def test_both_loaders_read_the_same(package: str) -> None:
    from importlib import resources

    for name in documents.document_names(package):
        text = (resources.files(package) / f"{name}.yaml").read_text(encoding="utf-8")
        assert documents.parse_yaml(text) == documents.read_document(name, package, "document")[1]
