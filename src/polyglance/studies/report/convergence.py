"""Whether a study's runs were trained long enough for a comparison."""

from collections.abc import Callable, Iterable

from polyglance.studies.plan import Plan
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import RunOutcome

MOST = 6
"""Runs named in a warning."""


def in_warmup(outcome: RunOutcome) -> bool:
    """Whether the best weights are from the warm-up with all negatives."""
    return bool(outcome.warmup and outcome.updates) and (outcome.best_update or 0) <= (
        outcome.warmup or 0
    )


def best_was_last(outcome: RunOutcome) -> bool:
    """Whether the last evaluation was the best, so that more updates may help."""
    return bool(outcome.updates) and outcome.best_update == outcome.updates


def shown_best(outcome: RunOutcome) -> str:
    """The update of the best weights, with the warm-up if there was one.

    >>> shown_best(RunOutcome(1.0, updates=900, best_update=300, warmup=350))
    '300, in the warm-up of 350'
    >>> shown_best(RunOutcome(1.0, updates=1900, best_update=1300, warmup=350))
    '1,300, after a warm-up of 350'
    """
    best = f"{outcome.best_update or 0:,}"
    if in_warmup(outcome):
        return f"{best}, in the warm-up of {outcome.warmup:,}"
    return f"{best}, after a warm-up of {outcome.warmup:,}" if outcome.warmup else best


def warnings(plan: Plan, options: Options) -> list[str]:
    """What a reader should know about the runs before comparing rows."""
    return warnings_of(
        (run.label, outcome)
        for run in plan.runs.values()
        if run.recipe is not None and (outcome := options.folder(run).outcome()) is not None
    )


def warnings_of(runs: Iterable[tuple[str, RunOutcome]]) -> list[str]:
    """The same for finished trainings.

    Args:
        runs: label and outcome of each.
    """
    found = list(runs)
    return [
        *_warning(
            found,
            in_warmup,
            "the best weights are from the warm-up, so the row shows the loss with all negatives",
        ),
        *_warning(
            found, best_was_last, "the last evaluation was the best, so training had not converged"
        ),
    ]


def _warning(
    runs: list[tuple[str, RunOutcome]], predicate: Callable[[RunOutcome], bool], text: str
) -> list[str]:
    labels = [label for label, outcome in runs if predicate(outcome)]
    if not labels:
        return []
    more = f" and {len(labels) - MOST} more" if len(labels) > MOST else ""
    return [f"{len(labels)} of {len(runs)} runs: {text} ({'; '.join(labels[:MOST])}{more})."]
