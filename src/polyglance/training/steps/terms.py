"""Updates on score matrices: captions against images, and against other captions."""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model, TwoTower
from polyglance.numerics.precision import autocast
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.text.embedders import TextBatch
from polyglance.training.distributed import Share
from polyglance.training.images import Pixels, step_images
from polyglance.training.inputs.augment import Augmenter
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers import Sampler, Term
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.levels import match_levels
from polyglance.training.steps.naming import Names, build_naming
from polyglance.training.steps.writing import build_writing


@steps.register("union")
@steps.register("languages")
@steps.register("joint")
class TermsStep(Step):
    """A weighted sum of losses on score matrices."""

    unit = "captions"
    splits = True

    def __init__(self, model: Model, data: TrainingData, sampler: Sampler) -> None:
        self.model, self.data = model, data
        self.warmup = model.recipe.loss.warmup(sampler.updates_per_epoch)
        self.objective = build_objective(model.recipe.loss)
        self.augmenter = Augmenter(model.recipe, model.embedder, data)
        self.images = step_images(model, data.features, self.augmenter, sampler.updates_per_epoch)
        self.decodes = self.images.decodes
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

    def thaw(self, update: int) -> None:
        self.images.thaw(update)

    def prepare(self, update: int, batch: list[Term]) -> "Read":
        shown = [self._own_images(term) for term in batch if term.others is None]
        pixels = self.images.look(update, np.concatenate(shown)) if shown else None
        terms = [
            self._read_term(term, update, 3 * index, pixels) for index, term in enumerate(batch)
        ]
        names = None if self.naming is None else self.naming.read(update, self.team)
        return Read(terms, names, pixels)

    def _own_images(self, term: Term) -> np.ndarray:
        """The images that this process embeds."""
        image = self.data.image[term.captions]
        return image[self.team.share(len(image)).rows]

    def outcome(self, update: int, prepared: "Read") -> StepOutcome:
        warming_up = update < self.warmup
        if not warming_up:
            used = (self._objective(read.term) for read in prepared.terms)
            for one in {id(one): one for one in used}.values():
                one.advance()
        losses, collapsed, deviation = [], 0.0, 0.0
        with self._half():
            seen = self.images.see(prepared.pixels)
        if (forgotten := self.images.forgotten(prepared.pixels, seen)) is not None:
            losses.append(forgotten)
            collapsed += float(forgotten.detach())
        for read in prepared.terms:
            if read.others is None:
                read = read._replace(images=self.images.features(read.images, seen))
            loss, scores, equal = self._loss(read, warming_up)
            losses.append(read.term.weight * loss)
            collapsed += read.term.weight * equal
            deviation = max(deviation, float(scores.detach().std(correction=0)))
        if self.naming is not None and prepared.names is not None:
            self.begin(prepared.names.part)
            loss, equal = self.naming.loss(prepared.names, self.objective, warming_up)
            losses.append(loss)
            collapsed += equal
        total = torch.stack(losses).sum() if len(losses) > 1 else losses[0]
        return StepOutcome(total, collapsed, deviation)

    def _loss(self, read: "ReadTerm", warming_up: bool) -> tuple[Tensor, Tensor, float]:
        """The loss of a term, its scores, and what the loss of a collapsed model would be."""
        network, objective = self.model.network, self._objective(read.term)
        self.begin(read.part)
        rules = self.model.recipe.consensus
        if rules is not None and read.others is None:
            assert isinstance(network, TwoTower)
            with self._half():
                both = network.image_levels(*read.features()), network.text_levels(*read.captions)
            both = read.part.gather(both[0]), read.part.gather(both[1])
            return match_levels(*both, read.pairs, objective, warming_up, rules)
        images, written = self._images(read)
        with self._half():
            captions = network.embed_text(*read.captions)
        scores = network.scores(read.part.gather(images), read.part.gather(captions))
        equal = objective.collapsed_value(len(scores), warming_up)
        loss = objective(scores, read.pairs, warming_up)
        if written is not None:
            written = read.part.mean(written)
            loss, equal = loss + written, equal + float(written.detach())
        return loss, scores, equal

    def _images(self, read: "ReadTerm") -> tuple[Any, Tensor | None]:
        """What captions are ranked against, and the loss of writing them where there is one."""
        network = self.model.network
        with self._half():
            if read.others is not None:
                return network.embed_text(*read.others), None
            if self.writing is None or read.written is None:
                return network.embed_images(*read.features()), None
            images, vectors = self.writing.network.embed_with_vectors(*read.features())
        return images, self.writing.loss(vectors, read.images[1], read.written)

    def _half(self) -> AbstractContextManager[Any]:
        """Where the towers compute in the recipe's precision; losses never do."""
        return autocast(self.model.recipe.training.precision, self.model.device)

    def _objective(self, term: Term) -> Objective:
        return self.objective if term.others is None else self.captions_objective

    def _read_term(self, term: Term, update: int, stream: int, pixels: Pixels | None) -> "ReadTerm":
        """What a term's loss is made of.

        Args:
            term: the term.
            update: number of the update.
            stream: its part of the update's random numbers.
            pixels: of all images of the update, where they are seen.
        """
        image = self.data.image[term.captions]
        pairs, part = torch.from_numpy(image), self.team.share(len(image))
        if term.others is not None:
            reverse = self.model.recipe.compat.c2c_lengths
            others = self._read(term.others, part, update, stream + 2, reverse)
            captions = self._read(term.captions, part, update, stream + 1, reverse)
            return ReadTerm(term, pairs, part, (), captions, others)
        parts = self.images.read(update, stream, image, part.rows, pixels)
        captions = self._read(term.captions, part, update, stream + 1)
        written = None if self.writing is None else self.writing.read(term.captions[part.rows])
        return ReadTerm(term, pairs, part, parts, captions, None, written)

    def _read(
        self, rows: np.ndarray, part: Share, update: int, stream: int, reverse: bool = False
    ) -> tuple[TextBatch, str]:
        """A part of captions as the network reads them, and their language."""
        language = self.data.languages[rows[0]]
        ids, lengths, unseen = self.augmenter.captions(update, stream, rows, language)
        if reverse:
            lengths = reversed_lengths(lengths)
        return TextBatch(ids[part.rows], lengths[part.rows], unseen), language


class ReadTerm(NamedTuple):
    """A term with all that its loss is made of; texts come with their language."""

    term: Term
    pairs: Tensor
    """[B], the image of each."""
    part: Share
    """The rows that this process embeds, of which the following are."""
    images: tuple[Tensor, ...]
    captions: tuple[TextBatch, str]
    others: tuple[TextBatch, str] | None = None
    written: tuple[Tensor, Tensor] | None = None
    """Ids and lengths of the captions that are generated."""

    def features(self) -> tuple[Tensor, ...]:
        """Those of the images, in float32."""
        return self.images[0].float(), *self.images[1:]


class Read(NamedTuple):
    """What an update is made of."""

    terms: list[ReadTerm]
    names: Names | None
    pixels: Pixels | None = None


def reversed_lengths(lengths: Tensor) -> Tensor:
    """The k-th shortest caption gets the length of the k-th longest (Kádár et al. 2018's code).

    >>> reversed_lengths(torch.tensor([2, 9, 5])).tolist()
    [9, 2, 5]
    """
    swapped = torch.empty_like(lengths)
    swapped[torch.argsort(lengths, stable=True)] = lengths.sort(descending=True).values
    return swapped
