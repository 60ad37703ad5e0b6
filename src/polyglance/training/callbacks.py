"""Callbacks for the events of a training: progress bar, logs, curves, checkpoints."""

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
"""Updates over which the loss shown is averaged."""


class Callback:
    """Base class for training callbacks; every method does nothing by default.

    An exception ends the training; it can be resumed from the last checkpoint.

    `polyglance.train(recipe, dataset, out, callbacks=[ShowRecall()])` calls

    >>> class ShowRecall(Callback):
    ...     def on_evaluation(self, trainer, row):
    ...         print(f"epoch {row['epoch']}: rsum {row['rsum']:.0f}")

    after every evaluation:

    >>> ShowRecall().on_evaluation(None, {"epoch": 2, "rsum": 311.4, "mr": {"en": 51.9}})
    epoch 2: rsum 311
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
    extra: Sequence[Callback], show_progress: bool | None = None, writes: bool = True
) -> list[Callback]:
    """The default callbacks, followed by `extra`.

    A callback of the same class as a default replaces it: `WriteCheckpoints(seconds=5)`
    writes a checkpoint every five seconds instead of every minute.

    Args:
        extra: the user's callbacks.
        show_progress: None shows a bar in a terminal.
        writes: whether this process shows and writes; only one of several does.
    """
    defaults: list[Callback] = [WatchCollapse()]
    writers = [ShowProgress(show_progress), WriteLog(), WriteCheckpoints()]
    if not writes:
        kinds = tuple(map(type, writers))
        extra = [one for one in extra if not isinstance(one, kinds)]
        writers = []
    defaults += writers
    found: list[Callback] = []
    for default in defaults:
        found += [one for one in extra if isinstance(one, type(default))] or [default]
    return found + [one for one in extra if not any(one is other for other in found)]


class WatchCollapse(Callback):
    """Stops a training, or warns, if every pair gets the same score (`training.collapse`)."""

    def __init__(self, patience: int | None = None) -> None:
        """`patience` is the number of consecutive collapsed updates."""
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

    The loss of a single update says little: batches differ in difficulty, and the last in size.
    """

    def __init__(self, show: bool | None = None) -> None:
        """None shows the bar in a terminal."""
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
        """`every` is the number of updates between two lines."""
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
    """Writes checkpoints at intervals, besides those after every evaluation."""

    def __init__(self, seconds: float = CHECKPOINT_SECONDS) -> None:
        """`seconds` is the interval."""
        self.seconds = seconds
        self.saved = time.monotonic()

    def on_update(self, trainer: "Trainer", outcome: "StepOutcome", rate: float, size: int) -> None:
        if time.monotonic() - self.saved > self.seconds:
            trainer.checkpoint()

    def on_checkpoint(self, trainer: "Trainer") -> None:
        self.saved = time.monotonic()
