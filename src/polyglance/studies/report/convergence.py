"""Whether the runs of a study were trained long enough for their rows to be compared."""

from collections.abc import Callable

from polyglance.studies.plan import Plan
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import Ended

MOST = 6
"""Runs that a warning names."""


def in_warmup(ended: Ended) -> bool:
    """Whether the best weights saw nothing but the warm-up's loss, that of all negatives."""
    return bool(ended.warmup and ended.updates) and (ended.best_update or 0) <= (ended.warmup or 0)


def best_was_last(ended: Ended) -> bool:
    """Whether the last evaluation was the best, so that more updates may be better still."""
    return bool(ended.updates) and ended.best_update == ended.updates


def shown_best(ended: Ended) -> str:
    """The update of the best weights, beside the warm-up where there was one.

    >>> shown_best(Ended(1.0, updates=900, best_update=300, warmup=350))
    '300, in the warm-up of 350'
    >>> shown_best(Ended(1.0, updates=1900, best_update=1300, warmup=350))
    '1,300, after a warm-up of 350'
    """
    best = f"{ended.best_update or 0:,}"
    if in_warmup(ended):
        return f"{best}, in the warm-up of {ended.warmup:,}"
    return f"{best}, after a warm-up of {ended.warmup:,}" if ended.warmup else best


def warnings(plan: Plan, options: Options) -> list[str]:
    """What a reader should know of the runs before comparing rows."""
    found = [
        (run.label, ended)
        for run in plan.runs.values()
        if run.recipe is not None and (ended := options.folder(run).ended()) is not None
    ]
    return [
        *_warning(
            found,
            in_warmup,
            "the best weights come from inside the warm-up, so that the row is one of the "
            "warm-up's loss, all negatives",
        ),
        *_warning(found, best_was_last, "the last evaluation was the best: not trained to the end"),
    ]


def _warning(runs: list[tuple[str, Ended]], is_so: Callable[[Ended], bool], says: str) -> list[str]:
    labels = [label for label, ended in runs if is_so(ended)]
    if not labels:
        return []
    more = f" and {len(labels) - MOST} more" if len(labels) > MOST else ""
    return [f"{len(labels)} of {len(runs)} runs: {says} ({'; '.join(labels[:MOST])}{more})."]
