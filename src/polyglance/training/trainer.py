"""Training: seeded, resumable to the same bits, judged as it goes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.files import read_json
from polyglance.models import Model
from polyglance.models.model import CONFIG, to_tensors
from polyglance.objectives import Objective, build_objective
from polyglance.progress import Bar
from polyglance.recipes import Recipe
from polyglance.text import bucketed_batches, pad
from polyglance.training import checkpoint
from polyglance.training.collapse import CollapseDetector, collapse_error
from polyglance.training.data import TrainingData, prepare
from polyglance.training.log import RunLog, draw_curve
from polyglance.training.schedule import learning_rate
from polyglance.training.validation import Validation

CHECKPOINT_SECONDS = 60.0
DRAW_SECONDS = 20.0
LOG_EVERY = 50


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    model: Model
    progress: checkpoint.Progress


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
    _check_folder(out, recipe, dataset, resume)
    dataset.split(recipe.data.validation_split)
    torch.manual_seed(recipe.training.seed)
    objective = build_objective(recipe.loss)
    model, data = prepare(recipe, dataset, cache, show_progress)
    validation = Validation(model, dataset, recipe.data.validation_split, cache)
    if not validation.judged:
        raise PolyglanceError(
            f"{dataset.name}: split '{recipe.data.validation_split}' has no captions in "
            f"{', '.join(model.languages)}, so there is nothing to judge the training by"
        )
    model.save_config(out, data=dataset.name, captions=len(data), parameters=model.parameters())
    return _Trainer(model, objective, data, validation, out, show_progress).run()


class _Trainer:
    def __init__(
        self,
        model: Model,
        objective: Objective,
        data: TrainingData,
        validation: Validation,
        out: Path,
        show_progress: bool | None,
    ) -> None:
        self.model, self.objective = model, objective
        self.data, self.validation = data, validation
        self.out, self.show_progress = out, show_progress
        self.recipe = model.recipe.training
        self.modules = {"model": model.network, "objective": objective}
        self.weights = [p for m in self.modules.values() for p in m.parameters() if p.requires_grad]
        kind = torch.optim.AdamW if self.recipe.optimizer == "adamw" else torch.optim.Adam
        self.optimizer = kind(
            self.weights, lr=self.recipe.lr, weight_decay=self.recipe.weight_decay, fused=True
        )
        self.updates_per_epoch = len(self._batches(0))
        self.done = checkpoint.Progress()
        if (out / checkpoint.FILE).is_file():
            self.done = checkpoint.load_checkpoint(out, self.modules, self.optimizer)
        self.detector = CollapseDetector()
        self.detector.count = self.done.collapsed
        self.log = RunLog(out, self.done.update)
        self.started = time.monotonic() - self.done.seconds
        self.saved_at = self.drawn_at = time.monotonic()

    def run(self) -> Result:
        """Train until the epochs are over or the patience is."""
        total = self.recipe.epochs * self.updates_per_epoch * self.recipe.batch_size
        self.model.network.train()
        try:
            with Bar("training", total, "captions", self.show_progress) as bar:
                bar.advance(self.done.update * self.recipe.batch_size)
                while not self.done.finished:
                    for rows in self._rest_of_epoch():
                        self._update(rows, bar)
                        if self.done.finished:
                            break
                    else:
                        self._end_epoch()
        finally:
            self.log.close()
        draw_curve(self.out)
        self.model.load_weights(self.out)
        return Result(self.model, self.done)

    def _batches(self, epoch: int) -> list[np.ndarray]:
        generator = np.random.default_rng([self.recipe.seed, epoch])
        recipe, lengths = self.recipe, self.data.tokens.lengths
        size, buckets = recipe.batch_size, recipe.buckets
        return bucketed_batches(lengths, size, generator, buckets, recipe.drop_last)

    def _rest_of_epoch(self) -> Iterator[np.ndarray]:
        yield from self._batches(self.done.epoch)[self.done.batch :]

    def _end_epoch(self) -> None:
        self.done.epoch, self.done.batch = self.done.epoch + 1, 0
        if self.done.epoch >= self.recipe.epochs:
            self.done.finished = f"all {self.recipe.epochs} epochs done"
            self._checkpoint()

    def _update(self, rows: np.ndarray, bar: Bar) -> None:
        rate = learning_rate(self.recipe, self.done.update, self.updates_per_epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss, scores = self._loss(rows)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights, self.recipe.clip)
        self.optimizer.step()
        self.done.update += 1
        self.done.batch += 1
        value = float(loss.detach())
        self._watch(value, scores)
        if self.done.update % LOG_EVERY == 0:
            self._log_update(value, rate)
        bar.advance(len(rows), note=self._note(value))
        every = self.recipe.evaluate_every or self.updates_per_epoch
        if self.done.update % every == 0:
            self._evaluate()
        if time.monotonic() - self.saved_at > CHECKPOINT_SECONDS:
            self._checkpoint()

    def _loss(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = (torch.from_numpy(part) for part in pad(*self.data.tokens, rows))
        photo = self.data.photo[rows]
        images = self.model.network.embed_images(*to_tensors(self.data.features, photo))
        captions = self.model.network.embed_text(ids, lengths)
        scores = self.model.network.scores(images, captions)
        return self.objective(scores, torch.from_numpy(photo), self.done.epoch), scores

    def _watch(self, loss: float, scores: torch.Tensor) -> None:
        if not np.isfinite(loss):
            raise PolyglanceError(
                f"the loss is {loss} after {self.done.update} updates: training has diverged; "
                "lower training.lr or training.clip"
            )
        collapsed = self.objective.collapsed_value(len(scores), self.done.epoch)
        stuck = self.detector.update(loss, collapsed, float(scores.detach().std(correction=0)))
        self.done.collapsed = self.detector.count
        if stuck:
            error = collapse_error(loss, collapsed, self.detector.patience)
            if self.recipe.collapse == "stop":
                raise error
            self.log.write(self.done.update, warning=str(error))

    def _log_update(self, loss: float, rate: float) -> None:
        seconds = time.monotonic() - self.started
        speed = self.done.update * self.recipe.batch_size / seconds
        self.log.write(
            self.done.update,
            epoch=self.done.epoch,
            loss=loss,
            lr=rate,
            captions_per_second=round(speed, 1),
        )

    def _evaluate(self) -> None:
        report = self.validation.report()
        recalls = {result.language: result.metrics for result in report.results}
        rsum = sum(metrics.rsum for metrics in recalls.values()) / len(recalls)
        improved = rsum > self.done.best
        if improved:
            self.done.best, self.done.best_update, self.done.stale = rsum, self.done.update, 0
            self.model.save_weights(self.out)
        else:
            self.done.stale += 1
            if self.done.stale >= self.recipe.patience:
                self.done.finished = f"no better rsum in {self.recipe.patience} evaluations"
        mr = {code: round(metrics.mr, 3) for code, metrics in recalls.items()}
        row = {"epoch": self.done.epoch, "rsum": round(rsum, 3), "mr": mr}
        self.done.evaluations.append({"update": self.done.update, **row})
        self.log.write(self.done.update, **row)
        if time.monotonic() - self.drawn_at > DRAW_SECONDS:
            draw_curve(self.out)
            self.drawn_at = time.monotonic()
        self._checkpoint()

    def _note(self, loss: float) -> str:
        text = f"epoch {self.done.epoch + 1}/{self.recipe.epochs} loss {loss:.3f}"
        if not self.done.evaluations:
            return text
        mr = self.done.evaluations[-1]["mr"]
        return f"{text} mR " + " ".join(f"{code} {value:.1f}" for code, value in mr.items())

    def _checkpoint(self) -> None:
        self.saved_at = time.monotonic()
        self.done.seconds = self.saved_at - self.started
        checkpoint.save_checkpoint(self.out, self.modules, self.optimizer, self.done)


def _check_folder(out: Path, recipe: Recipe, dataset: Dataset, resume: bool) -> None:
    if not out.exists() or not any(out.iterdir()):
        return
    if not (out / CONFIG).is_file():
        raise PolyglanceError(f"{out}: the folder is not empty and not a run; choose another --out")
    if not resume:
        raise PolyglanceError(
            f"{out}: a run is there already; go on with --resume, or choose another --out"
        )
    saved = read_json(out / CONFIG)
    if saved.get("recipe") != recipe.model_dump(mode="json"):
        raise PolyglanceError(
            f"{out}: the run there has another recipe; --resume needs the same one with the same "
            f"--set (see 'recipe' in {out / CONFIG})"
        )
    if saved.get("data") != dataset.name:
        raise PolyglanceError(f"{out}: the run there was trained on '{saved.get('data')}'")
