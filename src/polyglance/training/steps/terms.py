"""Updates on score matrices: captions against images, and against other captions."""

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model
from polyglance.models.model import to_tensors
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.training.augment import Augmenter
from polyglance.training.data import TrainingData
from polyglance.training.samplers import Sampler, Term
from polyglance.training.steps.base import Step, StepOutcome, steps
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
            loss, scores, written = self._loss(term, update, 3 * index, warming_up)
            equal = self._objective(term).collapsed_value(len(scores), warming_up)
            if written is not None:
                loss, equal = loss + written, equal + float(written.detach())
            losses.append(term.weight * loss)
            collapsed += term.weight * equal
            deviation = max(deviation, float(scores.detach().std(correction=0)))
        total = torch.stack(losses).sum() if len(losses) > 1 else losses[0]
        return StepOutcome(total, collapsed, deviation)

    def _loss(
        self, term: Term, update: int, stream: int, warming_up: bool
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The loss of a term, its scores, and what generating the captions adds, if anything."""
        written, image = None, self.data.image[term.captions]
        reverse = term.others is not None and self.model.recipe.compat.c2c_lengths
        if term.others is None:
            parts = to_tensors(self.data.features, image)
            parts = self.augmenter.images(update, stream, parts)
            if self.writing is None:
                images = self.model.network.embed_images(*parts)
            else:
                images, written = self.writing.images(parts, term.captions)
        else:
            images = self._embed(term.others, update, stream + 2, reverse)
        captions = self._embed(term.captions, update, stream + 1, reverse)
        scores = self.model.network.scores(images, captions)
        loss = self._objective(term)(scores, torch.from_numpy(image), warming_up)
        return loss, scores, written

    def _objective(self, term: Term) -> Objective:
        return self.objective if term.others is None else self.captions_objective

    def _embed(self, rows: np.ndarray, update: int, stream: int, reverse_lengths: bool) -> Tensor:
        language = self.data.languages[rows[0]]
        batch = self.augmenter.captions(update, stream, rows, language)
        if reverse_lengths:
            batch = batch._replace(lengths=reversed_lengths(batch.lengths))
        return self.model.network.embed_text(batch, language)


def reversed_lengths(lengths: Tensor) -> Tensor:
    """The k-th shortest caption gets the length of the k-th longest (Kádár et al. 2018's code).

    >>> reversed_lengths(torch.tensor([2, 9, 5])).tolist()
    [9, 2, 5]
    """
    swapped = torch.empty_like(lengths)
    swapped[torch.argsort(lengths, stable=True)] = lengths.sort(descending=True).values
    return swapped
