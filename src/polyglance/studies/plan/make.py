"""Makes the plan of a study: rows × x-values × seeds, without duplicates."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import Any

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.studies.format.measured import check_measures
from polyglance.studies.format.overrides import read_changes
from polyglance.studies.format.schema import Profile, Row, Study, Training
from polyglance.studies.plan.columns import collect_needs, filled, present_columns
from polyglance.studies.plan.ensembles import add_ensembles
from polyglance.studies.plan.runs import NOTHING, DataFacts, Line, Plan, X, describe
from polyglance.studies.plan.trainings import MissingInputs, MissingLanguages, add_run, all_changes


def pick_profile(study: Study, name: str) -> Profile:
    """A profile by name."""
    if name not in study.profiles:
        raise PolyglanceError(f"unknown profile '{name}'{nearest(name, list(study.profiles))}")
    return study.profiles[name]


def is_chosen(name: str, patterns: str) -> bool:
    """Whether a row matches --rows, comma-separated wildcards."""
    return any(fnmatch(name, pattern.strip()) for pattern in patterns.split(","))


def make_plan(
    study: Study,
    profile: str = "standard",
    facts: DataFacts | None = None,
    seeds: int | None = None,
    overrides: Mapping[str, Any] = NOTHING,
    only: str = "*",
    lenient: bool = False,
) -> Plan:
    """All runs of a study.

    Args:
        study: to plan.
        profile: the name of one of its profiles.
        facts: of the data; without them only the number of a retrieval study's runs is
            meaningful. A measured study has no data.
        seeds: for every row; None is as in the profile.
        overrides: as for `read_changes`, with precedence over all others.
        only: wildcard of the rows that `overrides` apply to.
        lenient: allow a plan without any run; otherwise it is an error.
    """
    chosen = pick_profile(study, profile)
    if chosen.folds is not None:
        evaluation = study.evaluation.model_copy(update={"folds": chosen.folds})
        study = study.model_copy(update={"evaluation": evaluation})
    columns, missing = present_columns(study, facts)
    plan = Plan(study, chosen, profile, seeds or chosen.seeds, columns, [], {}, missing)
    for row in study.all_rows:
        if row.ensemble:
            continue
        last = read_changes(overrides if is_chosen(row.name, only) else {})
        count = seeds or _seeds(chosen, row)
        for x in _xs(study, chosen, row):
            sources: list[dict[str, str]] = [{} for _ in range(count)]
            for training, each in _trainings(row, facts):
                changes = all_changes(study, chosen, row, training, x, last)
                for seed in range(count):
                    try:
                        run = add_run(plan, row, training, [*changes], each, seed, facts, last)
                    except MissingLanguages as lacking:
                        plan.lacking.setdefault(row.name, lacking.languages)
                        break
                    except MissingInputs as unavailable:
                        plan.unavailable.setdefault(row.name, str(unavailable))
                        break
                    describe(run, row, x, each, seed)
                    for name in filled(plan, row, training, run, facts):
                        sources[seed].setdefault(name, run.key)
            plan.lines.append(Line(row, x, sources))
        if study.experiment is not None:
            check_measures(study, row, [line.sources[0] for line in plan.lines if line.row is row])
    add_ensembles(plan)
    if facts is not None:
        if not plan.runs and not lenient:
            codes = sorted({code for codes in plan.lacking.values() for code in codes})
            if not codes:
                raise PolyglanceError(f"no row can be run: {next(iter(plan.unavailable.values()))}")
            raise PolyglanceError(
                f"{facts.dataset.name}: every row trains on languages that the data lacks "
                f"({', '.join(codes)}); it has {', '.join(facts.languages)}"
            )
        collect_needs(plan, facts)
    return plan


def count_runs(study: Study, profile: str) -> int:
    """Number of runs of a profile, extrapolated from those of one seed."""
    chosen = pick_profile(study, profile)
    seeds = {row.name: _seeds(chosen, row) for row in study.all_rows}
    runs = make_plan(study, profile, seeds=1).runs.values()
    return sum(max(seeds[name] for name in run.rows) for run in runs)


def _xs(study: Study, profile: Profile, row: Row) -> list[X]:
    if study.curve is None or not row.curve:
        return [None]
    return list(profile.x or study.curve.values)


def _seeds(profile: Profile, row: Row) -> int:
    fewer = [count for name, count in profile.fewer_seeds.items() if fnmatch(row.name, name)]
    return min([profile.seeds, *fewer])


def _trainings(row: Row, facts: DataFacts | None) -> Iterable[tuple[Training, str | None]]:
    if row.each:
        for code in _each(row, facts):
            yield Training(languages=[code]), code
    else:
        for training in row.runs or [Training()]:
            yield training, None


def _each(row: Row, facts: DataFacts | None) -> list[str]:
    """The values of `each`; of languages, those that the data has and, for "*", all others."""
    listed = [code for code in row.each if code != "*" and not code.startswith("!")]
    if facts is None:
        return listed
    others = [code for code in facts.languages if code not in listed and f"!{code}" not in row.each]
    return [c for c in listed if c in facts.languages] + (others if "*" in row.each else [])
