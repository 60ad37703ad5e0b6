"""What `polyglance study` prints about a plan, missing weights, and time."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from polyglance.studies import PreparedStudy
    from polyglance.studies.running.states import PlanStates

HEADER = [
    "row",
    "seeds",
    "data",
    "feature",
    "updates at most",
    "parameters",
    "time of a seed",
    "missing",
]


def print_plan(states: "PlanStates", as_json: bool = False) -> None:
    """Print rows with their training and what is missing, then runs with their state."""
    from polyglance.studies.running.times import duration

    if as_json:
        typer.echo(json.dumps(states.as_dict(), ensure_ascii=False, indent=2))
        return
    _print_forecasts(states)
    for name, why in states.unavailable.items():
        typer.echo(f"missing\t{name}\t{why}")
    for run in states.runs:
        time = "" if run.seconds is None else duration(run.seconds)
        typer.echo("\t".join([run.state, run.label, time]))
    when = "no estimate before a run has finished"
    if states.seconds is not None:
        when = f"about {duration(states.seconds)}"
    elif states.rough_seconds is not None:
        when = f"very roughly {duration(states.rough_seconds)}, from the models' sizes"
    todo = f"{states.todo} of {len(states.runs)} runs to do"
    typer.echo(f"{todo} with {states.jobs} at a time: {when}")


def _print_forecasts(states: "PlanStates") -> None:
    from polyglance.cli.recipes import print_table
    from polyglance.studies.running.times import duration

    folds = states.plan.study.evaluation.folds
    for gap in states.gaps:
        typer.echo(f"data\t{gap}")
    if folds > 1:
        typer.echo(f"evaluation\tmean over {folds} folds")
    cells = []
    for row in states.rows:
        captions = ", ".join(f"{code} {count:,}" for code, count in row.captions.items())
        spent = "" if row.seconds is None else duration(row.seconds)
        cells.append(
            [
                row.row if row.each is None else f"{row.row}, {row.each}",
                str(row.seeds),
                f"{row.images:,} images; {captions}" if row.captions else "",
                row.feature,
                "" if row.updates is None else f"{row.updates:,}",
                "" if row.parameters is None else f"{row.parameters:,}",
                spent if row.measured or not spent else f"roughly {spent}",
                "; ".join(row.missing),
            ]
        )
    if cells:
        print_table(HEADER, cells)


def print_retrained(prepared: "PreparedStudy") -> None:
    """Print which finished runs are trained again because their weights are missing."""
    from polyglance.studies.running.execute import retrained_runs

    for key, why in retrained_runs(prepared.plan, prepared.running).items():
        label = prepared.plan.runs[key].label
        typer.echo(f"{label}: its weights are missing; run again {why}", err=True)


def print_remaining(prepared: "PreparedStudy", failed: Collection[str]) -> None:
    """Print how many runs did not fit into the time limit, and how long they will take.

    Args:
        prepared: the study.
        failed: keys of failed runs.
    """
    from polyglance.studies.running.execute import estimate, pending
    from polyglance.studies.running.times import duration

    plan, options = prepared.plan, prepared.running
    if options.until is None:
        return
    left = [run for run in pending(plan, options) if run.key not in failed]
    if not left:
        return
    known = estimate(plan, options)
    total, each = known.total(left, options.jobs), [known.of(run.group) or 0.0 for run in left]
    time = "" if total is None else f", about {duration(total)}; the shortest {duration(min(each))}"
    runs = f"{len(left)} run{'s' * (len(left) > 1)} left after the time limit (--minutes){time}"
    typer.echo(f"{runs}; run the same command to continue", err=True)
