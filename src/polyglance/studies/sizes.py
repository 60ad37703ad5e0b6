"""How many numbers the models of a row have."""

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.studies.execute import Options
from polyglance.studies.plan import Line, Plan, Run
from polyglance.studies.schema import Column
from polyglance.studies.statistics import Series

MILLION = 1e6


class Sizes:
    """Parameters of runs: as their training wrote them down, or counted from their model's file.

    Runs of former versions have the total alone. Seeds of one run have the same sizes.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._counted: dict[str, dict[str, int]] = {}

    def of(self, run: Run, part: str) -> int | None:
        """Numbers trained of `all` or of `words`; None before the run has ended."""
        facts = self.options.folder(run).facts()
        parts = facts.get("parts") or {"all": facts.get("parameters")}
        if facts and parts.get(part) is None:
            parts = self._count(run)
        return parts.get(part)

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
    """Millions of parameters by seed, summed over the trainings of a row that has several."""
    found = {}
    for seed, source in enumerate(line.sources):
        runs = [plan.runs[key] for key in dict.fromkeys(source.values())]
        counts = [sizes.of(run, column.parameters or "all") for run in runs]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            found[seed] = sum(known) / MILLION
    return found


def untested(values: list[float]) -> Series:
    """Numbers that are shown and not compared: nothing of them is chance."""
    return Series(np.array(values), np.empty((len(values), 0)))
