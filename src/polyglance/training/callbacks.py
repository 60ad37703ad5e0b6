"""What happens at the events of a training: bars, logs, curves, checkpoints."""

import sys
import time
from collections import deque
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from polyglance.core.progress import Bar
from polyglance.text.embedders.universal.sharing import sharing_text
from polyglance.training.collapse import CollapseDetector, collapse_error
from polyglance.training.log import RunLog, draw_curve

if TYPE_CHECKING:
    from polyglance.training.steps import StepOutcome
    from polyglance.training.trainer import Trainer

CHECKPOINT_SECONDS, DRAW_SECONDS, LOG_EVERY = 60.0, 20.0, 50
MEAN_OVER = 50
"""Updates of which the mean loss is shown."""


class Callback:
    """Base class for training callbacks; every method does nothing by default.

    An exception ends the training; it can be resumed from the last checkpoint.
    """

    def on_start(self, trainer: "Trainer") -> None:
        """Called before the first update, also after resuming."""

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        """Called after every update.

        Args:
            trainer: the trainer.
            outcome: the update's loss and related values.
            rate: learning rate of the update.
            size: batch size of the update.
        """

    def on_evaluation(self, trainer: "Trainer", row: dict[str, Any]) -> None:
        """Called after every evaluation, with its epoch, rsum, and mR by language."""

    def on_checkpoint(self, trainer: "Trainer") -> None:
        """Called after a checkpoint is written."""

    def on_warning(self, trainer: "Trainer", message: str) -> None:
        """Called when something looks wrong but training continues."""

    def on_stop(self, trainer: "Trainer") -> None:
        """Called at the end, also on failure, in reverse order of `on_start`."""


def with_defaults(
    given: Sequence[Callback], show_progress: bool | None = None, writes: bool = True
) -> list[Callback]:
    """Those of every training, and `given` behind them.

    One of `given` that is of a default's class takes its place: `WriteCheckpoints(seconds=5)`
    writes a checkpoint every five seconds instead of every minute.

    Args:
        given: called behind the others.
        show_progress: None shows a bar on a terminal.
        writes: whether this process shows and writes; of several one does.
    """
    defaults: list[Callback] = [WatchCollapse()]
    writers = [ShowProgress(show_progress), WriteLog(), WriteCheckpoints()]
    if not writes:
        kinds = tuple(map(type, writers))
        given = [one for one in given if not isinstance(one, kinds)]
        writers = []
    defaults += writers
    found: list[Callback] = []
    for default in defaults:
        found += [one for one in given if isinstance(one, type(default))] or [default]
    return found + [one for one in given if not any(one is other for other in found)]


class WatchCollapse(Callback):
    """Ends a training whose model scores every pair alike, or warns (`training.collapse`)."""

    def __init__(self, patience: int | None = None) -> None:
        """`patience` is the number of collapsed updates in a row that it takes."""
        self.detector = CollapseDetector() if patience is None else CollapseDetector(patience)

    def on_start(self, trainer: "Trainer") -> None:
        self.detector.count = trainer.done.collapsed

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        loss = float(outcome.loss.detach())
        stuck = self.detector.update(loss, outcome.collapsed, outcome.deviation)
        trainer.done.collapsed = self.detector.count
        if stuck:
            patience, settings = self.detector.patience, trainer.model.recipe.loss
            error = collapse_error(loss, outcome.collapsed, patience, settings)
            if trainer.recipe.collapse == "stop":
                raise error
            for callback in trainer.callbacks:
                callback.on_warning(trainer, str(error))


class ShowProgress(Callback):
    """A bar with the epoch, the mean loss of the last updates and the last recalls.

    The loss of one update says little: batches differ in difficulty, and an epoch's last in size.
    """

    def __init__(self, show: bool | None = None) -> None:
        """`show` None shows it on a terminal."""
        self.show = show
        self.losses: deque[float] = deque(maxlen=MEAN_OVER)

    def on_start(self, trainer: "Trainer") -> None:
        if trainer.tokens and self.show is not False:
            print(sharing_text(trainer.tokens), file=sys.stderr)
        total = trainer.updates * trainer.recipe.batch_size
        self.bar = Bar("training", total, trainer.step.unit, self.show)
        self.bar.__enter__()
        self.bar.advance(trainer.done.update * trainer.recipe.batch_size)

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        of = "" if trainer.recipe.updates else f"/{trainer.epochs}"
        self.losses.append(float(outcome.loss.detach()))
        note = f"epoch {trainer.epoch + 1}{of} mean loss {fmean(self.losses):.3f}"
        if trainer.done.evaluations:
            mr = trainer.done.evaluations[-1]["mr"]
            note += " mR " + " ".join(f"{code} {value:.1f}" for code, value in mr.items())
        self.bar.advance(size, note=note)

    def on_stop(self, trainer: "Trainer") -> None:
        self.bar.__exit__(*sys.exc_info())


class WriteLog(Callback):
    """metrics.jsonl, TensorBoard and curve.png."""

    def __init__(self, every: int = LOG_EVERY) -> None:
        """`every` are the updates between two lines."""
        self.every = every

    def on_start(self, trainer: "Trainer") -> None:
        self.log = RunLog(trainer.out, trainer.done.update)
        if trainer.tokens and not trainer.done.update:
            self.log.write(0, tokens=trainer.tokens)
        self.drawn = time.monotonic()

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        update = trainer.done.update
        if update % self.every:
            return
        speed = update * trainer.recipe.batch_size / trainer.seconds
        speeds = {f"{trainer.step.unit}_per_second": round(speed, 1)}
        loss = float(outcome.loss.detach())
        self.log.write(update, epoch=trainer.epoch, loss=loss, lr=rate, **speeds)

    def on_evaluation(self, trainer: "Trainer", row: dict[str, Any]) -> None:
        self.log.write(trainer.done.update, **row)
        if time.monotonic() - self.drawn > DRAW_SECONDS:
            draw_curve(trainer.out)
            self.drawn = time.monotonic()

    def on_warning(self, trainer: "Trainer", message: str) -> None:
        self.log.write(trainer.done.update, warning=message)

    def on_stop(self, trainer: "Trainer") -> None:
        self.log.close()
        if trainer.done.finished:
            draw_curve(trainer.out)


class WriteCheckpoints(Callback):
    """A checkpoint now and then; one is written after every evaluation anyway."""

    def __init__(self, seconds: float = CHECKPOINT_SECONDS) -> None:
        """`seconds` are between two of them."""
        self.seconds = seconds
        self.saved = time.monotonic()

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        if time.monotonic() - self.saved > self.seconds:
            trainer.checkpoint()

    def on_checkpoint(self, trainer: "Trainer") -> None:
        self.saved = time.monotonic()
