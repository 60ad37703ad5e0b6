"""Training: seeded, resumable bit for bit, with evaluations along the way."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from polyglance.core.registry import nearest
from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import Report
from polyglance.models import Model
from polyglance.numerics.devices import (
    AUTO,
    Device,
    choose_device,
    explain_out_of_memory,
    move,
    place,
)
from polyglance.numerics.precision import check_precision, gradient_scaler
from polyglance.numerics.torchrun import local_rank
from polyglance.recipes.schema import Recipe
from polyglance.training.assignment import assign_tokens
from polyglance.training.callbacks import Callback, with_defaults
from polyglance.training.checkpoint import FILE, Progress, load_checkpoint, save_checkpoint
from polyglance.training.distributed import World
from polyglance.training.distributed.broadcast import broadcast_weights
from polyglance.training.distributed.checks import check_same_command, check_same_data
from polyglance.training.distributed.join import joined
from polyglance.training.distributed.parallel import in_parallel
from polyglance.training.folder import check_folder, lock_run, removed_on_failure, run_fingerprint
from polyglance.training.images import prepared
from polyglance.training.inputs.data import CreateModel, InitialModel, fresh_model, prepare
from polyglance.training.log import RunLog
from polyglance.training.optimization.groups import (
    all_multipliers,
    check_multipliers,
    parameter_groups,
)
from polyglance.training.optimization.optimizer import build_optimizer, clip_gradients
from polyglance.training.optimization.schedule import (
    epochs_of,
    evaluation_interval,
    learning_rate,
    total_updates,
)
from polyglance.training.samplers import Sampler, samplers
from polyglance.training.steps import Step, steps
from polyglance.training.validation import Validation
from polyglance.vision.image_network import resolved

LEAST_GAIN = 1e-3
"""Least increase of the log-likelihood that counts as an improvement, at the same rsum."""


@dataclass(frozen=True)
class Result:
    """The outcome of a run."""

    model: Model
    progress: Progress
    updates_per_epoch: int = 0
    tokens: dict[str, float] = field(default_factory=dict)
    """How much languages share latent tokens; empty if there are none."""

    @property
    def still_improving(self) -> bool:
        """Whether the last of several evaluations was the best, so that more epochs may help."""
        done = self.progress
        return len(done.evaluations) > 1 and done.best_update == done.update

    @property
    def gained_nothing(self) -> bool:
        """Whether a training that started from a model never became better than its start."""
        done = self.progress
        measured = bool(done.evaluations) and done.evaluations[0]["update"] == 0
        return measured and done.update > 0 and done.best_update == 0


def train(
    recipe: Recipe,
    dataset: Dataset,
    out: Path,
    resume: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
    start: CreateModel = fresh_model,
    callbacks: Sequence[Callback] = (),
    device: Device = AUTO,
) -> Result:
    """Train a recipe on a dataset into the folder `out`; the best weights on validation are kept.

    It is an error if another training is writing to `out`.

    Args:
        recipe: the system.
        dataset: images with captions.
        out: the run's folder, created here.
        resume: resume a killed run, with the same result as an uninterrupted one; or extend a
            finished run whose recipe differs only in `training.epochs` or `updates`.
        cache: folder for features and word vectors; None is the XDG cache.
        show_progress: None shows bars in a terminal if it takes long.
        start: creates the initial model; `polyglance.transfer` has others.
        callbacks: called at every event, after the default ones; a callback of the same class as
            a default replaces it.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    chosen = choose_device(device, local_rank())
    check_precision(recipe.training.precision, chosen)
    with joined(chosen) as world, lock_run(out) if world.is_main else nullcontext():
        recipe = resolved(recipe)
        fingerprint = run_fingerprint(recipe, dataset)
        check_same_command(world, recipe, fingerprint, resume)
        if world.is_main:
            check_folder(out, recipe, fingerprint, resume)
        else:
            show_progress = False
        dataset.split(recipe.data.validation_split)
        torch.manual_seed(recipe.training.seed)
        with world.local_main_first():
            started, data = prepare(
                recipe, dataset, start, assign_tokens, cache, show_progress, chosen
            )
        model = started.model
        if started.fresh:
            model.drawings = dataset.drawings
        split = recipe.data.validation_split
        with world.local_main_first():
            validation = Validation(model, dataset, split, cache, started.trains, world)
        _check_validation(recipe, dataset, model, validation)
        check_multipliers(model.network, recipe.training.multipliers)
        check_same_data(world, data, model.network)
        facts: dict[str, Any] = {"data": dataset.name, "fingerprint": fingerprint}
        facts["captions"] = len(data)
        if tokens := model.embedder.token_sharing():
            facts["tokens"] = tokens
        if not len(data):
            if world.is_main:
                model.save_config(out, **facts, parameters=model.parameters())
            return _untrained(model, validation, out, world)
        kind = recipe.sampling.kind
        sampler = samplers.get(kind)(recipe, data)
        step = steps.get(kind)(model, data, sampler)
        step.world = world
        events = with_defaults(callbacks, show_progress, world.is_main)
        trainer = Trainer(started, step, sampler, validation, out, events, tokens)
        with removed_on_failure(out) if world.is_main else nullcontext():
            if world.is_main:
                model.save_config(out, **facts, parameters=model.parameters())
            return trainer.run()


def _check_validation(
    recipe: Recipe, dataset: Dataset, model: Model, validation: Validation
) -> None:
    split, languages = recipe.data.validation_split, validation.evaluated
    if missing := sorted(set(recipe.training.primary or ()) - set(languages)):
        raise PolyglanceError(
            f"training.primary: '{missing[0]}' is not both trained on and in split "
            f"'{split}'{nearest(missing[0], languages)}"
        )
    if not languages:
        raise PolyglanceError(
            f"{dataset.label}: split '{split}' has no captions in "
            f"{', '.join(model.languages)}, so there is nothing to evaluate the training on"
        )


def _untrained(model: Model, validation: Validation, out: Path, world: World) -> Result:
    """Report the initial model: what a source model knows of a language without training."""
    report = validation.report()
    rsum = mean_rsum(report, None)
    row = {"update": 0, "epoch": 0, "rsum": round(rsum, 3), "mr": mr_of(report)}
    done = Progress(best=rsum, finished="nothing to train on", evaluations=[row])
    if world.is_main:
        model.save_weights(out)
        log = RunLog(out, 0)
        log.write(0, rsum=row["rsum"], mr=row["mr"])
        log.close()
    return Result(model, done)


class Trainer:
    """The training loop; everything else is done by its callbacks."""

    def __init__(
        self,
        start: InitialModel,
        step: Step,
        sampler: Sampler,
        validation: Validation,
        out: Path,
        callbacks: Sequence[Callback] = (),
        tokens: dict[str, float] | None = None,
    ) -> None:
        """Start a training, or resume it from the checkpoint in `out`.

        Args:
            start: the model, and which parts of it are trained.
            step: computes the loss of a batch.
            sampler: of batches.
            validation: evaluates the model.
            out: the run's folder.
            callbacks: for the events of the training.
            tokens: how much languages share latent tokens, to be reported.
        """
        self.tokens = tokens or {}
        self.start, self.step, self.sampler, self.validation = start, step, sampler, validation
        self.model, self.out, self.callbacks = start.model, out, list(callbacks)
        self.recipe, self.device = self.model.recipe.training, self.model.device
        for module in step.modules.values():
            place(module, self.device)
        groups = parameter_groups(step.modules, all_multipliers(self.model))
        self.weights = [parameter for group in groups for parameter in group["params"]]
        self.optimizer = build_optimizer(groups, self.recipe)
        self.scaler = gradient_scaler(self.recipe.precision, self.device)
        self.world, self.done = step.world, Progress()
        if self.world.is_main and (out / FILE).is_file():
            self.done = load_checkpoint(out, step.modules, self.optimizer, self.scaler)
        self.done = self.world.broadcast(self.done)
        self.outcome = in_parallel(step, self.optimizer, self.scaler, self.recipe.seed)
        self.moved_from = self.done.device if self.done.device != str(self.device) else ""
        self.done.device = str(self.device)
        self.epochs = epochs_of(self.recipe, sampler.updates_per_epoch)
        self.updates = total_updates(self.recipe, sampler.updates_per_epoch)
        self._check_plan()
        self.started = time.monotonic() - self.done.seconds

    def run(self) -> Result:
        """Train until the last epoch, or until patience runs out."""
        self._train_mode()
        with ExitStack() as stopping:
            for callback in self.callbacks:
                callback.on_start(self)
                stopping.callback(callback.on_stop, self)
            if self.moved_from:
                self._warn(
                    f"resumed on {self.device} after {self.moved_from}: random numbers and "
                    "rounding differ from those of a run on one device"
                )
            # The last run may have been killed between a checkpoint and a due evaluation.
            self._evaluate_if_due()
            batches = self.sampler.batches(self.done.update)
            for batch, read in prepared(self.step, batches, self.done.update, self.device):
                if self.done.finished:
                    break
                self.step.thaw(self.done.update)
                with explain_out_of_memory(self.device, self._memory_advice()):
                    self._update(move(read, self.device), self.step.size(batch))
                self._evaluate_if_due()
        self.model.network.eval()
        if self.world.is_main:
            self.model.load_weights(self.out)
        broadcast_weights(self.world, {"model": self.model.network})
        return Result(self.model, self.done, self.sampler.updates_per_epoch, self.tokens)

    def _check_plan(self) -> None:
        """Let a finished run continue if more updates are requested."""
        done = self.done
        if self.updates < done.update:
            raise PolyglanceError(
                f"{self.out}: the run there has made {done.update} updates, more than the "
                f"{self.updates} now requested; request more with --set training.epochs=…"
            )
        # Runs of older versions do not record the planned updates, only the final ones.
        planned = done.planned or (done.update if done.finished.startswith("all ") else 0)
        if 0 < planned < self.updates:
            done.finished, done.stale = "", 0
        done.planned = self.updates

    @property
    def seconds(self) -> float:
        """Seconds of training, including those before a resumption."""
        return time.monotonic() - self.started

    @property
    def epoch(self) -> int:
        """The epoch, from 0, of the update just made."""
        return max(0, self.done.update - 1) // self.sampler.updates_per_epoch

    def evaluate(self) -> None:
        """Evaluate the model on validation, and save its weights if they are the best so far."""
        self.model.network.eval()
        report, likelihoods = self.validation.assess()
        self._train_mode()
        rsum = mean_rsum(report, self.recipe.primary)
        tie = rsum == self.done.best
        likelihood = float("-inf")
        if likelihoods:
            likelihood = fmean(likelihoods[code] for code in self.recipe.primary or likelihoods)
        if rsum > self.done.best or (tie and likelihood > self.done.likelihood + LEAST_GAIN):
            self.done.best, self.done.best_update, self.done.stale = rsum, self.done.update, 0
            self.done.likelihood = likelihood
            if self.world.is_main:
                self.model.save_weights(self.out)
        else:
            self.done.stale += 1
            if self.done.stale >= self.recipe.patience and not self.done.finished:
                self.done.finished = f"no better rsum in {self.recipe.patience} evaluations"
        row: dict[str, Any] = {"epoch": self.epoch, "rsum": round(rsum, 3), "mr": mr_of(report)}
        if likelihoods:
            row["log_likelihood"] = round(likelihood, 4)
        self.done.evaluations.append({"update": self.done.update, **row})
        for callback in self.callbacks:
            callback.on_evaluation(self, row)
        self.checkpoint()

    def checkpoint(self) -> None:
        """Write everything that the next update depends on."""
        if not self.world.is_main:
            return
        self.done.seconds = self.seconds
        save_checkpoint(self.out, self.step.modules, self.optimizer, self.done, self.scaler)
        for callback in self.callbacks:
            callback.on_checkpoint(self)

    def _warn(self, message: str) -> None:
        for callback in self.callbacks:
            callback.on_warning(self, message)

    def _memory_advice(self) -> str:
        """What to do if an update does not fit into memory."""
        ways = [f"lower training.batch_size, which is {self.recipe.batch_size}"]
        if self.recipe.precision == "fp32":
            ways.append("set training.precision=bf16")
        if not (self.out / FILE).is_file():
            return ", or ".join([*ways, *self._chunks()])
        elsewhere = f"{', or '.join(ways)}, with another --out"
        return ", or ".join(
            [*(f"{way} and continue with --resume" for way in self._chunks()), elsewhere]
        )

    def _chunks(self) -> list[str]:
        """How to compute fewer images of the network in the tower at a time, if possible."""
        backbone = self.model.recipe.image.backbone
        if backbone is None or backbone.views is not None or backbone.chunk == 1:
            return []
        images = self.recipe.batch_size if backbone.chunk is None else backbone.chunk
        return [f"set image.backbone.chunk={max(1, images // 4)}"]

    def _train_mode(self) -> None:
        # Frozen parts keep their statistics as well.
        self.model.network.train(self.start.trains is None)

    def _update(self, prepared: Any, size: int) -> None:
        rate = learning_rate(self.recipe, self.done.update, self.sampler.updates_per_epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["multiplier"]
        outcome = self.outcome(self.done.update, prepared)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(outcome.loss).backward()
        if self.recipe.clip is not None:
            self.scaler.unscale_(self.optimizer)
            clip_gradients(self.weights, self.recipe.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if not np.isfinite(float(outcome.loss.detach())):
            raise PolyglanceError(
                f"the loss is {float(outcome.loss.detach())} after {self.done.update} updates: "
                "training has diverged; lower training.lr, or set training.clip"
            )
        self.done.update += 1
        for callback in self.callbacks:
            callback.on_update(self, outcome, rate, size)

    def _evaluate_if_due(self) -> None:
        """Evaluate if due, and finish if all updates are done."""
        if self._is_due() and not self._is_evaluated():
            self.evaluate()
        if self.done.update >= self.updates and not self.done.finished:
            self.done.finished = f"all {self._planned_length()} done"
            if not self._is_evaluated():
                self.evaluate()
            self.checkpoint()

    def _is_due(self) -> bool:
        update = self.done.update
        if not update:
            return not self.start.fresh
        every = evaluation_interval(self.recipe, self.sampler.updates_per_epoch)
        return update % every == 0 and self.step.evaluable(update)

    def _is_evaluated(self) -> bool:
        rows = self.done.evaluations
        return bool(rows) and rows[-1]["update"] == self.done.update

    def _planned_length(self) -> str:
        if self.recipe.updates:
            return f"{self.recipe.updates} updates"
        return f"{self.epochs} epochs"


def mean_rsum(report: Report, languages: Sequence[str] | None) -> float:
    """The mean rsum of a report over `languages`, or all."""
    found = {result.language: result.metrics.rsum for result in report.results}
    chosen = languages or list(found)
    return sum(found[language] for language in chosen) / len(chosen)


def mr_of(report: Report) -> dict[str, float]:
    """mR of a report by language."""
    return {result.language: round(result.metrics.mr, 3) for result in report.results}
