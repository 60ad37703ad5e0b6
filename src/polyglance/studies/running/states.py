"""The state of every run of a plan, and how long the missing ones take."""

from dataclasses import dataclass
from typing import Any

from polyglance.studies.plan import DataFacts, Plan, Run, is_chosen
from polyglance.studies.running.execute import Options, estimate, pending, retrained_runs, wanted
from polyglance.studies.running.forecast import Forecast, forecasts, size_gaps


@dataclass(frozen=True)
class RunState:
    """A run of a plan.

    Args:
        key: of the run, the name of its folder.
        state: "cached", "failed", "to run", "to go on" (its training was interrupted), "to
            evaluate", or "to run again" (its weights are missing).
        label: its row and seed.
        seconds: expected duration of its training; None if it is not trained, or no run has
            finished.
    """

    key: str
    state: str
    label: str
    seconds: float | None


@dataclass(frozen=True)
class PlanStates:
    """What a study would run, and what it lacks.

    Args:
        plan: the study's runs.
        jobs: number of parallel runs.
        rows: what each row trains on; empty in a measured study.
        gaps: splits whose number of images differs from the paper's.
        unavailable: row → why it cannot be run, for the selected rows.
        runs: of the selected rows.
        todo: number of runs that are missing.
        seconds: of all missing runs with `jobs` at a time; None before a run has finished.
        rough_seconds: the same from the models' sizes, if `seconds` is None.
    """

    plan: Plan
    jobs: int
    rows: list[Forecast]
    gaps: list[str]
    unavailable: dict[str, str]
    runs: list[RunState]
    todo: int
    seconds: float | None
    rough_seconds: float | None

    def as_dict(self) -> dict[str, Any]:
        """All of it as a JSON value."""
        return {
            "study": self.plan.study.title,
            "profile": self.plan.profile_name,
            "folds": self.plan.study.evaluation.folds,
            "data": self.gaps,
            "rows": [row.as_dict() for row in self.rows],
            "unavailable": self.plan.unavailable,
            "runs": [
                {"key": run.key, "state": run.state, "label": run.label, "seconds": run.seconds}
                for run in self.runs
            ],
        }


def states_of(plan: Plan, facts: DataFacts | None, options: Options) -> PlanStates:
    """The states of a plan's runs.

    Args:
        plan: made with `lenient`.
        facts: of the data; None for a measured study.
        options: with the location of runs and the selected rows.
    """
    known, todo = estimate(plan, options), pending(plan, options)
    rows = [] if facts is None else forecasts(plan, facts, options)
    keys, again = {run.key for run in todo}, set(retrained_runs(plan, options))
    runs = []
    for run in wanted(plan, options):
        trained = run.key in keys and (run.key in again or not options.folder(run).done)
        seconds = known.of(run.group) if trained else None
        runs.append(RunState(run.key, _state(run, options, keys, again), run.label, seconds))
    left = [run for run in todo if run.key in again or not options.folder(run).done]
    total = known.total(left, options.jobs)
    return PlanStates(
        plan=plan,
        jobs=options.jobs,
        rows=rows,
        gaps=[] if facts is None else size_gaps(plan, facts),
        unavailable={n: why for n, why in plan.unavailable.items() if is_chosen(n, options.rows)},
        runs=runs,
        todo=len(todo),
        seconds=total,
        rough_seconds=_rough_seconds(rows, options.jobs) if total is None else None,
    )


def _state(run: Run, options: Options, todo: set[str], again: set[str]) -> str:
    folder = options.folder(run)
    if run.key not in todo:
        return "cached" if folder.failure() is None else "failed"
    if run.key in again:
        return "to run again"
    if folder.done:
        return "to evaluate"
    return "to go on" if folder.model.exists() else "to run"


def _rough_seconds(rows: list[Forecast], jobs: int) -> float | None:
    """The rows' estimates from sizes; None if one has none."""
    if not rows or any(row.seconds is None for row in rows):
        return None
    return sum((row.seconds or 0.0) * row.seeds for row in rows) / jobs
