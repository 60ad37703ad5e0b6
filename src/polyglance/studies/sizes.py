"""How many numbers the models of a row have, and what their training cost."""

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.studies.execute import Options
from polyglance.studies.plan import Line, Plan, Run
from polyglance.studies.schema import Column
from polyglance.studies.statistics import Series

MILLION, GIB = 1e6, 2.0**30


class Sizes:
    """Parameters of runs: as their training wrote them down, or counted from their model's file.

    Runs of former versions have the total alone. Seeds of one run have the same sizes.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._counted: dict[str, dict[str, int]] = {}

    def of(self, run: Run, part: str) -> int | None:
        """Numbers trained of `all`, `words` or what is `deployed`; None before the run's end."""
        if part == "deployed":
            everything, words = self.of(run, "all"), self.of(run, "words")
            return None if everything is None or words is None else everything - words
        facts = self.options.folder(run).facts()
        parts = facts.get("parts") or {"all": facts.get("parameters")}
        if facts and parts.get(part) is None:
            parts = self._count(run)
        return parts.get(part)

    def cost(self, run: Run, what: str) -> float | None:
        """Seconds of an epoch, or GiB of memory; None of runs that did not write it down."""
        facts = self.options.folder(run).facts()
        if what == "memory":
            return facts["memory"] / GIB if facts.get("memory") else None
        if not (facts.get("updates_per_epoch") and facts["updates"]):
            return None
        return float(facts["seconds"] / facts["updates"] * facts["updates_per_epoch"])

    def _count(self, run: Run) -> dict[str, int]:
        if run.kin not in self._counted:
            from polyglance.models import Model

            try:
                model = Model.from_config(self.options.folder(run).model)
                self._counted[run.kin] = model.parameters()
            except (PolyglanceError, RuntimeError):  # files that were deleted or are too old
                self._counted[run.kin] = {}
        return self._counted[run.kin]


def line_sizes(plan: Plan, line: Line, column: Column, sizes: Sizes) -> dict[int, float]:
    """What a column counts, by seed: over the trainings of a row the sum, of memory the most."""
    found = {}
    for seed, source in enumerate(line.sources):
        runs = [plan.runs[key] for key in dict.fromkeys(source.values())]
        counts = [_count_of(run, column, sizes) for run in runs]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            found[seed] = max(known) if column.cost == "memory" else sum(known)
    return found


def _count_of(run: Run, column: Column, sizes: Sizes) -> float | None:
    if column.cost is not None:
        return sizes.cost(run, column.cost)
    count = sizes.of(run, column.parameters or "all")
    return None if count is None else count / MILLION


def untested(values: list[float]) -> Series:
    """Numbers that are shown and not compared: nothing of them is chance."""
    return Series(np.array(values), np.empty((len(values), 0)))
