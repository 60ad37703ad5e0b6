"""How many parameters the models of a row have, and what their training cost."""

from polyglance.core.trust import trusting
from polyglance.errors import PolyglanceError
from polyglance.studies.format.schema import Column
from polyglance.studies.plan import Line, Plan, Run
from polyglance.studies.running.execute import Options

MILLION, GIB = 1e6, 2.0**30


class Sizes:
    """Parameters of runs: as their training wrote them down, or counted from their model's file.

    Runs of former versions have the total alone. Seeds of one run have the same sizes.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._counted: dict[str, dict[str, int]] = {}

    def of(self, run: Run, part: str) -> int | None:
        """Parameters of `all`, `words` or what is `deployed`; None before the run's end."""
        if part == "deployed":
            everything, words = self.of(run, "all"), self.of(run, "words")
            return None if everything is None or words is None else everything - words
        ended = self.options.folder(run).ended()
        if ended is None:
            return None
        if part == "all" and not ended.parts and ended.parameters is not None:
            return ended.parameters
        return (ended.parts if part in ended.parts else self.counted(run)).get(part)

    def cost(self, run: Run, what: str) -> float | None:
        """Seconds of an epoch, or GiB of memory; None of runs that did not write it down."""
        ended = self.options.folder(run).ended()
        if ended is None:
            return None
        if what == "memory":
            return ended.memory / GIB if ended.memory else None
        if not (ended.updates_per_epoch and ended.updates):
            return None
        return ended.seconds / ended.updates * ended.updates_per_epoch

    def line(self, plan: Plan, line: Line, column: Column) -> dict[int, float]:
        """What a column counts, by seed: a row's trainings summed, of memory and tokens the most.

        Args:
            plan: which has the runs.
            line: the row at one x.
            column: one that counts parameters, a cost or tokens.
        """
        found = {}
        for seed, source in enumerate(line.sources):
            runs = [plan.runs[key] for key in dict.fromkeys(source.values())]
            counts = [self._column(run, column) for run in runs]
            known = [count for count in counts if count is not None]
            if known and len(known) == len(counts):
                most = column.cost == "memory" or column.tokens is not None
                found[seed] = max(known) if most else sum(known)
        return found

    def tokens(self, run: Run, what: str) -> float | None:
        """How far languages share latent tokens; None of runs without them, or without a count."""
        ended = self.options.folder(run).ended()
        return None if ended is None else ended.tokens.get(what)

    def _column(self, run: Run, column: Column) -> float | None:
        if column.tokens is not None:
            return self.tokens(run, column.tokens)
        if column.cost is not None:
            return self.cost(run, column.cost)
        count = self.of(run, column.parameters or "all")
        return None if count is None else count / MILLION

    def counted(self, run: Run) -> dict[str, int]:
        """Parameters by part, from the model's file; none without one."""
        if run.group not in self._counted:
            from polyglance.models import Model

            try:
                with trusting():
                    model = Model.from_config(self.options.folder(run).model)
                self._counted[run.group] = model.parameters()
            except (PolyglanceError, RuntimeError):  # files that were deleted or are too old
                self._counted[run.group] = {}
        return self._counted[run.group]
