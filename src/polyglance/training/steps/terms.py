"""Updates on score matrices: captions against images, and against other captions."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model, TwoTower
from polyglance.models.model import to_tensors
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.text.embedders import TextBatch
from polyglance.training.augment import Augmenter
from polyglance.training.data import TrainingData
from polyglance.training.samplers import Sampler, Term
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.levels import match_levels
from polyglance.training.steps.naming import build_naming
from polyglance.training.steps.writing import build_writing


@steps.register("union")
@steps.register("languages")
@steps.register("joint")
class TermsStep(Step):
    """A weighted sum of losses on score matrices."""

    unit = "captions"

    def __init__(self, model: Model, data: TrainingData, sampler: Sampler) -> None:
        self.model, self.data = model, data
        self.warmup = model.recipe.loss.warmup(sampler.updates_per_epoch)
        self.objective = build_objective(model.recipe.loss)
        self.augmenter = Augmenter(model.recipe, model.embedder, data)
        self.modules = {"model": model.network, "objective": self.objective}
        self.writing = build_writing(model, data)
        if self.writing is not None:
            self.modules["captioning"] = self.writing.generator
        self.naming = build_naming(model)
        self.captions_objective = self.objective.for_captions()
        if self.captions_objective is not self.objective:
            self.modules["captions_objective"] = self.captions_objective

    def size(self, batch: list[Term]) -> int:
        return len(batch[0].captions)

    def outcome(self, update: int, batch: list[Term]) -> StepOutcome:
        warming_up = update < self.warmup
        if not warming_up:
            for used in {id(one): one for one in map(self._objective, batch)}.values():
                used.advance()
        losses, collapsed, deviation = [], 0.0, 0.0
        for index, term in enumerate(batch):
            loss, scores, equal = self._loss(term, update, 3 * index, warming_up)
            losses.append(term.weight * loss)
            collapsed += term.weight * equal
            deviation = max(deviation, float(scores.detach().std(correction=0)))
        if self.naming is not None:
            loss, equal = self.naming.loss(update, self.objective, warming_up)
            losses.append(loss)
            collapsed += equal
        total = torch.stack(losses).sum() if len(losses) > 1 else losses[0]
        return StepOutcome(total, collapsed, deviation)

    def _loss(
        self, term: Term, update: int, stream: int, warming_up: bool
    ) -> tuple[Tensor, Tensor, float]:
        """The loss of a term, its scores, and what the loss of a collapsed model would be."""
        network, image = self.model.network, self.data.image[term.captions]
        pairs, objective = torch.from_numpy(image), self._objective(term)
        if term.others is not None:
            reverse = self.model.recipe.compat.c2c_lengths
            images = self._embed(term.others, update, stream + 2, reverse)
            captions = self._embed(term.captions, update, stream + 1, reverse)
            return self._matched(images, captions, pairs, objective, warming_up)
        parts = to_tensors(self.data.features, image)
        parts = self.augmenter.images(update, stream, parts)
        if (rules := self.model.recipe.consensus) is not None:
            assert isinstance(network, TwoTower)
            texts = self._read(term.captions, update, stream + 1)
            both = network.image_levels(*parts), network.text_levels(*texts)
            return match_levels(*both, pairs, objective, warming_up, rules)
        written = None
        if self.writing is None:
            images = network.embed_images(*parts)
        else:
            images, written = self.writing.images(parts, term.captions)
        captions = self._embed(term.captions, update, stream + 1)
        loss, scores, equal = self._matched(images, captions, pairs, objective, warming_up)
        if written is not None:
            loss, equal = loss + written, equal + float(written.detach())
        return loss, scores, equal

    def _matched(
        self, images: Any, captions: Any, pairs: Tensor, objective: Objective, warming_up: bool
    ) -> tuple[Tensor, Tensor, float]:
        scores = self.model.network.scores(images, captions)
        equal = objective.collapsed_value(len(scores), warming_up)
        return objective(scores, pairs, warming_up), scores, equal

    def _objective(self, term: Term) -> Objective:
        return self.objective if term.others is None else self.captions_objective

    def _embed(
        self, rows: np.ndarray, update: int, stream: int, reverse_lengths: bool = False
    ) -> Tensor:
        batch, language = self._read(rows, update, stream)
        if reverse_lengths:
            batch = batch._replace(lengths=reversed_lengths(batch.lengths))
        return self.model.network.embed_text(batch, language)

    def _read(self, rows: np.ndarray, update: int, stream: int) -> tuple[TextBatch, str]:
        """Captions as the network reads them, and their language."""
        language = self.data.languages[rows[0]]
        return self.augmenter.captions(update, stream, rows, language), language


def reversed_lengths(lengths: Tensor) -> Tensor:
    """The k-th shortest caption gets the length of the k-th longest (Kádár et al. 2018's code).

    >>> reversed_lengths(torch.tensor([2, 9, 5])).tolist()
    [9, 2, 5]
    """
    swapped = torch.empty_like(lengths)
    swapped[torch.argsort(lengths, stable=True)] = lengths.sort(descending=True).values
    return swapped
