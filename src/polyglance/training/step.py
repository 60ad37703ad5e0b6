"""How an update becomes a loss: the part of training that differs between families of systems."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.models import Model
from polyglance.models.model import to_tensors
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.training.augment import Augmenter
from polyglance.training.data import TrainingData
from polyglance.training.feed import Feed, Term


class Outcome(NamedTuple):
    """A loss, what it would be of a collapsed model, and the deviation of the scores."""

    loss: Tensor
    collapsed: float
    deviation: float


class Step(ABC):
    """Losses of the updates of a feed; `modules` are saved and trained."""

    unit: str
    modules: dict[str, nn.Module]

    @abstractmethod
    def outcome(self, update: int, batch: Any) -> Outcome:
        """The loss of what the feed gives for update number `update`."""

    @abstractmethod
    def size(self, batch: Any) -> int:
        """How many `unit` a batch has."""

    def judged(self, update: int) -> bool:
        """Whether the model means anything after `update` updates."""
        return True


class TermsStep(Step):
    """A weighted sum of losses on score matrices."""

    unit = "captions"

    def __init__(self, model: Model, data: TrainingData, feed: Feed) -> None:
        self.model, self.data = model, data
        loss = model.recipe.loss
        self.warmup = loss.warmup(feed.updates_per_epoch)
        self.objective = build_objective(loss)
        self.augmenter = Augmenter(model.recipe, model.reader, data.tokens, data.joined)
        self.modules = {"model": model.network, "objective": self.objective}
        self.captions_objective = self.objective.for_captions()
        if self.captions_objective is not self.objective:
            self.modules["captions_objective"] = self.captions_objective

    def size(self, batch: list[Term]) -> int:
        return len(batch[0].captions)

    def outcome(self, update: int, batch: list[Term]) -> Outcome:
        warming_up = update < self.warmup
        if not warming_up:
            for used in {id(one): one for one in map(self._objective, batch)}.values():
                used.advance()
        losses, collapsed, deviation = [], 0.0, 0.0
        for index, term in enumerate(batch):
            loss, scores = self._loss(term, update, 3 * index, warming_up)
            losses.append(term.weight * loss)
            equal = self._objective(term).collapsed_value(len(scores), warming_up)
            collapsed += term.weight * equal
            deviation = max(deviation, float(scores.detach().std(correction=0)))
        total = torch.stack(losses).sum() if len(losses) > 1 else losses[0]
        return Outcome(total, collapsed, deviation)

    def _loss(
        self, term: Term, update: int, stream: int, warming_up: bool
    ) -> tuple[Tensor, Tensor]:
        photo = self.data.photo[term.captions]
        reverse = term.others is not None and self.model.recipe.compat.c2c_lengths
        if term.others is None:
            parts = to_tensors(self.data.features, photo)
            parts = self.augmenter.images(update, stream, parts)
            images = self.model.network.embed_images(*parts)
        else:
            images = self._embed(term.others, update, stream + 2, reverse)
        captions = self._embed(term.captions, update, stream + 1, reverse)
        scores = self.model.network.scores(images, captions)
        return self._objective(term)(scores, torch.from_numpy(photo), warming_up), scores

    def _objective(self, term: Term) -> Objective:
        return self.objective if term.others is None else self.captions_objective

    def _embed(self, rows: np.ndarray, update: int, stream: int, reverse_lengths: bool) -> Tensor:
        language = self.data.languages[rows[0]]
        ids, lengths = self.augmenter.captions(update, stream, rows, language)
        if reverse_lengths:
            lengths = reversed_lengths(lengths)
        return self.model.network.embed_text(ids, lengths, language)


def reversed_lengths(lengths: Tensor) -> Tensor:
    """The k-th shortest caption gets the length of the k-th longest (spec §2.2, bug 1).

    >>> reversed_lengths(torch.tensor([2, 9, 5])).tolist()
    [9, 2, 5]
    """
    swapped = torch.empty_like(lengths)
    swapped[torch.argsort(lengths, stable=True)] = lengths.sort(descending=True).values
    return swapped
