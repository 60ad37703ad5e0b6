"""Parameters of a row's models, and the cost of their training."""

from polyglance.core.trust import trusting
from polyglance.errors import PolyglanceError
from polyglance.studies.format.schema import Column
from polyglance.studies.plan import Line, Plan, Run
from polyglance.studies.running.execute import Options

MILLION, GIB = 1e6, 2.0**30


class Sizes:
    """Parameters of runs, as recorded by their training, or counted from the model's file.

    Runs of earlier versions have only the total. All seeds of a run have the same sizes.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._counted: dict[str, dict[str, int]] = {}

    def of(self, run: Run, part: str) -> int | None:
        """Parameters: `all`, `words` or `deployed`; None before the run's end."""
        if part == "deployed":
            everything, words = self.of(run, "all"), self.of(run, "words")
            return None if everything is None or words is None else everything - words
        outcome = self.options.folder(run).outcome()
        if outcome is None:
            return None
        if part == "all" and not outcome.parts and outcome.parameters is not None:
            return outcome.parameters
        return (outcome.parts if part in outcome.parts else self.counted(run)).get(part)

    def cost(self, run: Run, what: str) -> float | None:
        """Seconds per epoch, or GiB of memory; None for runs without a record."""
        outcome = self.options.folder(run).outcome()
        if outcome is None:
            return None
        if what == "memory":
            return outcome.memory / GIB if outcome.memory else None
        if not (outcome.updates_per_epoch and outcome.updates):
            return None
        return outcome.seconds / outcome.updates * outcome.updates_per_epoch

    def line(self, plan: Plan, line: Line, column: Column) -> dict[int, float]:
        """A column's counts by seed: summed over a row's trainings, or the maximum.

        Args:
            plan: that has the runs.
            line: the row at one x.
            column: of parameters, a cost or tokens.
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
        """How much languages share latent tokens; None for runs without them or a record."""
        outcome = self.options.folder(run).outcome()
        return None if outcome is None else outcome.tokens.get(what)

    def _column(self, run: Run, column: Column) -> float | None:
        if column.tokens is not None:
            return self.tokens(run, column.tokens)
        if column.cost is not None:
            return self.cost(run, column.cost)
        count = self.of(run, column.parameters or "all")
        return None if count is None else count / MILLION

    def counted(self, run: Run) -> dict[str, int]:
        """Parameters by part, from the model's file; empty without one."""
        if run.group not in self._counted:
            from polyglance.models import Model

            try:
                with trusting():
                    model = Model.from_config(self.options.folder(run).model)
                self._counted[run.group] = model.parameters()
            except (PolyglanceError, RuntimeError):  # deleted or too old files
                self._counted[run.group] = {}
        return self._counted[run.group]
