"""Training: seeded, resumable to the same bits, judged as it goes."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.data.fingerprint import dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.files import has_file
from polyglance.models import Model
from polyglance.models.cross_attention import check_attention
from polyglance.objectives import objectives
from polyglance.progress import Bar
from polyglance.recipes import Recipe
from polyglance.registry import nearest
from polyglance.training import checkpoint
from polyglance.training.collapse import CollapseDetector, collapse_error
from polyglance.training.data import TrainingData, prepare
from polyglance.training.feed import Feed, build_feed
from polyglance.training.folder import check_folder
from polyglance.training.groups import check_multipliers, parameter_groups
from polyglance.training.log import RunLog, draw_curve
from polyglance.training.schedule import learning_rate, total_updates
from polyglance.training.source import freeze, source_folder
from polyglance.training.step import Step, TermsStep
from polyglance.training.tuples import TuplesFeed, check_tuples
from polyglance.training.tuples_step import TuplesStep
from polyglance.training.validation import Validation

CHECKPOINT_SECONDS = 60.0
DRAW_SECONDS = 20.0
LOG_EVERY = 50


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    model: Model
    progress: checkpoint.Progress
    updates_per_epoch: int = 0


def train(
    recipe: Recipe,
    dataset: Dataset,
    out: Path,
    resume: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Result:
    """Train a recipe on a dataset into the folder `out`; the best weights on validation are kept.

    A killed run goes on with `resume` to the same result as an uninterrupted one.
    """
    fingerprint = dataset_fingerprint(dataset)
    check_folder(out, recipe, fingerprint, resume)
    dataset.split(recipe.data.validation_split)
    check_attention(recipe)
    objectives.get(recipe.loss.name)
    if recipe.tasks.sampling == "tuples":
        check_tuples(recipe)
    torch.manual_seed(recipe.training.seed)
    named = recipe.transfer.source
    source = None if named is None else source_folder(named, out)
    model, data = prepare(recipe, dataset, cache, show_progress, source)
    trained = None
    if recipe.transfer.keep:
        trained = recipe.data.languages or sorted(set(data.languages))
        freeze(model, trained)
    validation = Validation(model, dataset, recipe.data.validation_split, cache, trained)
    if missing := sorted(set(recipe.training.primary or ()) - set(validation.judged)):
        raise PolyglanceError(
            f"training.primary: '{missing[0]}' is not a language that is trained and in split "
            f"'{recipe.data.validation_split}'{nearest(missing[0], validation.judged)}"
        )
    if not validation.judged:
        raise PolyglanceError(
            f"{dataset.label}: split '{recipe.data.validation_split}' has no captions in "
            f"{', '.join(model.languages)}, so there is nothing to judge the training by"
        )
    check_multipliers(model.network, recipe.training.multipliers)
    facts = {"data": dataset.name, "fingerprint": fingerprint, "captions": len(data)}
    if not len(data):
        model.save_config(out, **facts, parameters=model.parameters())
        return _untrained(model, validation, out)
    step, feed = _build_step(model, data)
    model.save_config(out, **facts, parameters=model.parameters())
    return _Trainer(model, step, feed, validation, out, show_progress).run()


def _untrained(model: Model, validation: Validation, out: Path) -> Result:
    """A model as it starts: what a source knows of a language without a photograph in it."""
    model.save_weights(out)
    report = validation.report()
    mr = {result.language: round(result.metrics.mr, 3) for result in report.results}
    rsum = sum(result.metrics.rsum for result in report.results) / len(report.results)
    row = {"update": 0, "epoch": 0, "rsum": round(rsum, 3), "mr": mr}
    done = checkpoint.Progress(best=rsum, finished="nothing to train on", evaluations=[row])
    log = RunLog(out, 0)
    log.write(0, rsum=row["rsum"], mr=mr)
    log.close()
    return Result(model, done)


def _build_step(model: Model, data: TrainingData) -> tuple[Step, Feed]:
    if model.recipe.tasks.sampling == "tuples":
        tuples = TuplesFeed(model.recipe, data)
        return TuplesStep(model, data, tuples), tuples
    feed = build_feed(model.recipe, data)
    return TermsStep(model, data, feed), feed


class _Trainer:
    def __init__(
        self,
        model: Model,
        step: Step,
        feed: Feed,
        validation: Validation,
        out: Path,
        show_progress: bool | None,
    ) -> None:
        self.model, self.step, self.feed, self.validation = model, step, feed, validation
        self.out, self.show = out, show_progress
        self.recipe = model.recipe.training
        self.modules = step.modules
        groups = parameter_groups(self.modules, self.recipe.multipliers)
        self.weights = [parameter for group in groups for parameter in group["params"]]
        kind = torch.optim.AdamW if self.recipe.optimizer == "adamw" else torch.optim.Adam
        self.optimizer = kind(
            groups, lr=self.recipe.lr, weight_decay=self.recipe.weight_decay, fused=True
        )
        self.done = checkpoint.Progress()
        if has_file(out / checkpoint.FILE):
            self.done = checkpoint.load_checkpoint(out, self.modules, self.optimizer)
        self.detector = CollapseDetector()
        self.detector.count = self.done.collapsed
        self.log = RunLog(out, self.done.update)
        self.started = time.monotonic() - self.done.seconds
        self.saved_at = self.drawn_at = time.monotonic()

    def run(self) -> Result:
        """Train until the epochs are over or the patience is."""
        updates = total_updates(self.recipe, self.feed.updates_per_epoch)
        # What is frozen keeps its statistics as well.
        self.model.network.train(not self.model.recipe.transfer.keep)
        if self.model.recipe.transfer.source is not None and not self.done.evaluations:
            self._evaluate()
        try:
            total = updates * self.recipe.batch_size
            with Bar("training", total, self.step.unit, self.show) as bar:
                bar.advance(self.done.update * self.recipe.batch_size)
                for batch in self.feed.steps(self.done.update):
                    if self.done.finished:
                        break
                    self._update(batch, bar)
                    if self.done.update >= updates and not self.done.finished:
                        self._finish(f"all {self._length()} done")
        finally:
            self.log.close()
        draw_curve(self.out)
        self.model.load_weights(self.out)
        return Result(self.model, self.done, self.feed.updates_per_epoch)

    @property
    def epoch(self) -> int:
        """Epochs completed."""
        return self.done.update // self.feed.updates_per_epoch

    def _length(self) -> str:
        if self.recipe.updates:
            return f"{self.recipe.updates} updates"
        return f"{self.recipe.epochs} epochs"

    def _finish(self, reason: str) -> None:
        self.done.finished = reason
        if not self.done.evaluations or self.done.evaluations[-1]["update"] < self.done.update:
            self._evaluate()
        self._checkpoint()

    def _update(self, batch: Any, bar: Bar) -> None:
        rate = learning_rate(self.recipe, self.done.update, self.feed.updates_per_epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["multiplier"]
        total, collapsed, deviation = self.step.outcome(self.done.update, batch)
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.weights, self.recipe.clip)
        self.optimizer.step()
        value = float(total.detach())
        self._watch(value, collapsed, deviation)
        note = self._note(value)
        self.done.update += 1
        if self.done.update % LOG_EVERY == 0:
            self._log_update(value, rate)
        bar.advance(self.step.size(batch), note=note)
        every = self.recipe.evaluate_every or self.feed.updates_per_epoch
        if self.done.update % every == 0 and self.step.judged(self.done.update):
            self._evaluate()
        if time.monotonic() - self.saved_at > CHECKPOINT_SECONDS:
            self._checkpoint()

    def _watch(self, loss: float, collapsed: float, deviation: float) -> None:
        if not np.isfinite(loss):
            raise PolyglanceError(
                f"the loss is {loss} after {self.done.update} updates: training has diverged; "
                "lower training.lr or training.clip"
            )
        stuck = self.detector.update(loss, collapsed, deviation)
        self.done.collapsed = self.detector.count
        if stuck:
            error = collapse_error(loss, collapsed, self.detector.patience, self.model.recipe.loss)
            if self.recipe.collapse == "stop":
                raise error
            self.log.write(self.done.update, warning=str(error))

    def _log_update(self, loss: float, rate: float) -> None:
        seconds = time.monotonic() - self.started
        speed = self.done.update * self.recipe.batch_size / seconds
        speeds = {f"{self.step.unit}_per_second": round(speed, 1)}
        self.log.write(self.done.update, epoch=self._epoch_of_last(), loss=loss, lr=rate, **speeds)

    def _evaluate(self) -> None:
        report = self.validation.report()
        recalls = {result.language: result.metrics for result in report.results}
        judged = self.recipe.primary or list(recalls)
        rsum = sum(recalls[code].rsum for code in judged) / len(judged)
        improved = rsum > self.done.best
        if improved:
            self.done.best, self.done.best_update, self.done.stale = rsum, self.done.update, 0
            self.model.save_weights(self.out)
        else:
            self.done.stale += 1
            if self.done.stale >= self.recipe.patience and not self.done.finished:
                self.done.finished = f"no better rsum in {self.recipe.patience} evaluations"
        mr = {code: round(metrics.mr, 3) for code, metrics in recalls.items()}
        row = {"epoch": self._epoch_of_last(), "rsum": round(rsum, 3), "mr": mr}
        self.done.evaluations.append({"update": self.done.update, **row})
        self.log.write(self.done.update, **row)
        if time.monotonic() - self.drawn_at > DRAW_SECONDS:
            draw_curve(self.out)
            self.drawn_at = time.monotonic()
        self._checkpoint()

    def _epoch_of_last(self) -> int:
        """The epoch, from 0, of the update just made."""
        return max(0, self.done.update - 1) // self.feed.updates_per_epoch

    def _note(self, loss: float) -> str:
        of = "" if self.recipe.updates else f"/{self.recipe.epochs}"
        text = f"epoch {self.epoch + 1}{of} loss {loss:.3f}"
        if not self.done.evaluations:
            return text
        mr = self.done.evaluations[-1]["mr"]
        return f"{text} mR " + " ".join(f"{code} {value:.1f}" for code, value in mr.items())

    def _checkpoint(self) -> None:
        self.saved_at = time.monotonic()
        self.done.seconds = self.saved_at - self.started
        checkpoint.save_checkpoint(self.out, self.modules, self.optimizer, self.done)
