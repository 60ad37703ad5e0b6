"""How the runs of a report differ from those that its study has today.

A study, a profile or a recipe may change after a report. Its numbers then are those of the
earlier settings until the study is run again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, check_recipe
from polyglance.studies.format.load import load_study, study_names
from polyglance.studies.format.schema import Study
from polyglance.studies.keys.fingerprint import IMPORTED, training_fields
from polyglance.studies.plan import RUN, Plan, Run, make_plan

MOST = 5
"""Settings and rows that are named."""
IGNORED = ("transfer.source", "fingerprint", "lexicon")
"""Settings that depend on the data or the machine, or the last part of their names."""


def earlier(value: Mapping[str, Any]) -> list[str]:
    """The differences in words; none for studies that are not included, and after --set.

    Args:
        value: a report's JSON.
    """
    if value["study"] not in study_names() or " --set " in value["about"].get("command", ""):
        return []
    former = Study.model_validate(value["definition"])
    seeds = len(value["about"]["seeds"].split(", "))
    try:
        plan = _plan(value["study"], next(iter(former.profiles)), seeds)
    except PolyglanceError:
        return []
    return [*_changed_runs(value["runs"], plan), *_new_rows(former, plan)]


@lru_cache(maxsize=64)
def _plan(name: str, profile: str, seeds: int) -> Plan:
    return make_plan(load_study(name), profile, seeds=seeds)


def _changed_runs(runs: Mapping[str, Mapping[str, Any]], plan: Plan) -> Iterator[str]:
    today = {label: run for run in plan.runs.values() for label in run.labels}
    counts: Counter[str] = Counter()
    changed: set[str] = set()
    trained = {key: run for key, run in runs.items() if {"recipe", "settings"} & set(run)}
    for key, run in trained.items():
        settings = _former_settings(run)
        for name in {one for label in run["labels"] for one in _gaps(settings, today.get(label))}:
            counts[name] += 1
            changed.add(key)
    for key, run in trained.items():
        source = ((run.get("recipe") or {}).get("transfer") or {}).get("source") or ""
        if source.removeprefix(RUN) in changed:
            changed.add(key)
    if changed:
        names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        yield (
            f"{len(changed)} of {len(trained)} runs differ from those of the study today "
            f"({_listed(names)})"
        )


def _former_settings(run: Mapping[str, Any]) -> dict[str, Any]:
    if run.get("recipe") is None:
        return dict(run["settings"])
    return _settings(check_recipe(run["recipe"], "a report's recipe"))


def _gaps(former: Mapping[str, Any], run: Run | None) -> set[str]:
    """Names of the settings of a run that have another value today."""
    if run is None or (run.recipe is None and run.trial is None):
        return {"rows or values of x"}
    trial = {} if run.trial is None else run.trial.as_dict()["settings"]
    own = trial if run.recipe is None else _settings(run.recipe)
    return {
        name
        for name in {*former, *own}
        if former.get(name) != own.get(name) and not name.endswith(IGNORED)
    }


def _settings(recipe: Recipe) -> dict[str, Any]:
    return dict(_leaves(training_fields(recipe).model_dump(mode="json")))


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, part in value.items():
        if isinstance(part, dict) and part:
            yield from _leaves(part, f"{prefix}{name}.")
        else:
            yield prefix + name, part


def _new_rows(former: Study, plan: Plan) -> Iterator[str]:
    """Rows that the study has gained; those that need imported data may not be runnable."""
    known = {row.name for row in former.all_rows}
    optional = {
        name
        for name, recipes in plan.recipes.items()
        for _, recipe in recipes
        if recipe.image.feature.startswith(IMPORTED)
        or "transformer" in (recipe.text.encoder.kind, recipe.text.embedder.kind)
    }
    rows = [row for row in plan.study.all_rows if not row.ensemble]
    if new := [row.title for row in rows if row.name not in known | optional]:
        yield f"rows added since: {_listed([f'“{title}”' for title in new])}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"
