"""Golden keys: were one to change, finished runs would be trained again.

Runs of version 0.1.0 are found under their new keys: tests/studies/running/test_migrate.py.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.recipes import load_recipe
from polyglance.studies import load_study, make_plan
from polyglance.studies.format.measured import Trial, make_trial, trial_group, trial_key
from polyglance.studies.keys.fingerprint import group_key, run_key

REPORTS = Path(__file__).parents[3] / "docs" / "studies"


@pytest.mark.parametrize(
    ("recipe", "overrides", "key", "group"),
    [
        (
            "vsepp",
            {"text.tokenizer": "words"},
            "05f7864910a7d5878a1b94bc",
            "05f7864910a7d5878a1b94bc",
        ),
        (
            "nce",
            {"training.seed": 2, "training.epochs": 3},
            "1f854fcf3a0ee30dc62b12d0",
            "0c4c58e362b738376446ff2f",
        ),
        ("smalr", {}, "9538dcc136f27e8a4187d26c", "9538dcc136f27e8a4187d26c"),
        (
            "liwe",
            {"text.embedder.word_dim": 7},
            "2b7b21211a70fb5f2b6a61d3",
            "2b7b21211a70fb5f2b6a61d3",
        ),
        ("kadar-bilingual", {}, "28ae2452e78d403d12cdb627", "28ae2452e78d403d12cdb627"),
    ],
)
def test_keys_of_trainings(recipe: str, overrides: dict[str, Any], key: str, group: str) -> None:
    loaded = load_recipe(recipe, overrides, before=True)
    assert (run_key(loaded, "data"), group_key(loaded, "data")) == (key, group)


@pytest.mark.parametrize(
    ("experiment", "changes", "key", "group"),
    [
        (
            "pooling-patterns",
            [{"pattern": "L"}, {"seed": 1}],
            "5ab2f110fd6043b984413fc3",
            "206cbd76696d67e0a4f43b62",
        ),
        (
            "word-alignment",
            [{"pair": "$each"}, {"fingerprint": "abc"}],
            "c24d14540d70200729844b87",
            "c24d14540d70200729844b87",
        ),
    ],
)
def test_keys_of_trials(
    experiment: str, changes: list[dict[str, Any]], key: str, group: str
) -> None:
    trial = make_trial(experiment, changes, "en-de")
    assert (trial_key(trial), trial_group(trial)) == (key, group)


@pytest.mark.parametrize("name", ["gpo-speed", "gpo-synthetic", "translator-alignment"])
def test_trials_of_the_published_reports_keep_their_keys(name: str) -> None:
    runs = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))["runs"]
    assert {trial_key(Trial.from_dict(run)): 0 for run in runs.values()} == dict.fromkeys(runs, 0)


@pytest.mark.parametrize(
    ("study", "profile", "count", "digest"),
    [
        ("gpo-synthetic", "quick", 40, "f7aed7a3fee4a1de"),
        ("kadar-table2", "standard", 27, "f05de80b43df614f"),
    ],
)
def test_keys_of_whole_studies(study: str, profile: str, count: int, digest: str) -> None:
    runs = make_plan(load_study(study), profile).runs
    found = hashlib.sha256(" ".join(runs).encode()).hexdigest()[:16]
    assert (len(runs), found) == (count, digest)
