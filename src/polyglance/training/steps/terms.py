"""Updates on score matrices: captions against images and against other captions."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model, TwoTower
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.text.embedders import TextBatch
from polyglance.training.distributed import Share
from polyglance.training.images import Pixels, step_images
from polyglance.training.inputs.augment import Augmenter
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers import Sampler, Term
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.captioning import build_captioning
from polyglance.training.steps.levels import match_levels
from polyglance.training.steps.naming import Names, build_naming


@steps.register("union")
@steps.register("languages")
@steps.register("joint")
class TermsStep(Step):
    """A weighted sum of losses on score matrices.

    Args:
        model: to train.
        data: its captions and images.
        sampler: of the batches.
    """

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
        self.captioning = build_captioning(model, data)
        if self.captioning is not None:
            self.modules["captioning"] = self.captioning.generator
        self.naming = build_naming(model)
        self.captions_objective = self.objective.for_captions()
        if self.captions_objective is not self.objective:
            self.modules["captions_objective"] = self.captions_objective

    def size(self, batch: list[Term]) -> int:
        return len(batch[0].captions)

    def thaw(self, update: int) -> None:
        self.images.thaw(update)

    def prepare(self, update: int, batch: list[Term]) -> "Read":
        images = [self.data.image[term.captions] for term in batch if term.others is None]
        ranks = zip(*map(self.world.shared_rows, images), strict=True)
        shown = [np.concatenate(rows) for rows in ranks]
        pixels = self.images.load_pixels(update, shown, self.world.rank) if shown else None
        terms = [
            self._read_term(term, update, 3 * index, pixels) for index, term in enumerate(batch)
        ]
        names = None if self.naming is None else self.naming.read(update, self.world)
        return Read(terms, names, pixels)

    def outcome(self, update: int, prepared: "Read") -> StepOutcome:
        warming_up = update < self.warmup
        if not warming_up:
            used = (self._objective(read.term) for read in prepared.terms)
            for one in {id(one): one for one in used}.values():
                one.advance()
        losses, collapsed, deviation = [], 0.0, 0.0
        with self.autocast():
            outputs = self.images.run_network(prepared.pixels)
        if (retention := self.images.retention_loss(prepared.pixels, outputs)) is not None:
            losses.append(self.world.sum(retention))
            collapsed += float(losses[-1].detach())
        for read in prepared.terms:
            if read.others is None:
                read = read._replace(images=self.images.features(read.images, outputs))
            loss, scores, equal = self._loss(read, warming_up)
            losses.append(read.term.weight * loss)
            collapsed += read.term.weight * equal
            deviation = max(deviation, float(scores.detach().std(correction=0)))
        if self.naming is not None and prepared.names is not None:
            self.declare_share(prepared.names.part)
            loss, equal = self.naming.loss(prepared.names, self.objective, warming_up)
            losses.append(loss)
            collapsed += equal
        total = torch.stack(losses).sum() if len(losses) > 1 else losses[0]
        return StepOutcome(total, collapsed, deviation)

    def _loss(self, read: "ReadTerm", warming_up: bool) -> tuple[Tensor, Tensor, float]:
        """The loss of a term, its scores, and the loss of a collapsed model."""
        network, objective = self.model.network, self._objective(read.term)
        self.declare_share(read.part)
        rules = self.model.recipe.consensus
        if rules is not None and read.others is None:
            assert isinstance(network, TwoTower)
            with self.autocast():
                both = network.image_levels(*read.images), network.text_levels(*read.captions)
            both = read.part.gather(both[0]), read.part.gather(both[1])
            return match_levels(*both, read.pairs, objective, warming_up, rules)
        images, captioning = self._images(read)
        with self.autocast():
            captions = network.embed_text(*read.captions)
        scores = network.scores(read.part.gather(images), read.part.gather(captions))
        equal = objective.collapsed_value(len(scores), warming_up)
        loss = objective(scores, read.pairs, warming_up)
        if captioning is not None:
            captioning = read.part.mean(captioning)
            loss, equal = loss + captioning, equal + float(captioning.detach())
        return loss, scores, equal

    def _images(self, read: "ReadTerm") -> tuple[Any, Tensor | None]:
        """What captions are ranked against, and the loss of generating them, if any."""
        network = self.model.network
        with self.autocast():
            if read.others is not None:
                return network.embed_text(*read.others), None
            if self.captioning is None or read.caption_ids is None:
                return network.embed_images(*read.images), None
            images, vectors = self.captioning.network.embed_with_vectors(*read.images)
        return images, self.captioning.loss(vectors, read.images[1], read.caption_ids)

    def _objective(self, term: Term) -> Objective:
        return self.objective if term.others is None else self.captions_objective

    def _read_term(self, term: Term, update: int, stream: int, pixels: Pixels | None) -> "ReadTerm":
        """The input of a term's loss.

        Args:
            term: the term.
            update: number of the update.
            stream: of the update's random numbers.
            pixels: of all images of the update, if the network sees them.
        """
        image = self.data.image[term.captions]
        pairs, part = torch.from_numpy(image), self.world.share(len(image))
        if term.others is not None:
            reverse = self.model.recipe.compat.c2c_lengths
            others = self._read(term.others, part, update, stream + 2, reverse)
            captions = self._read(term.captions, part, update, stream + 1, reverse)
            return ReadTerm(term, pairs, part, (), captions, others)
        parts = self.images.read(update, stream, image, part.rows, pixels)
        captions = self._read(term.captions, part, update, stream + 1)
        caption_ids = (
            None if self.captioning is None else self.captioning.read(term.captions[part.rows])
        )
        return ReadTerm(term, pairs, part, parts, captions, None, caption_ids)

    def _read(
        self, rows: np.ndarray, part: Share, update: int, stream: int, reverse: bool = False
    ) -> tuple[TextBatch, str]:
        """Some captions as input of the network, and their language."""
        language = self.data.languages[rows[0]]
        ids, lengths, unseen = self.augmenter.captions(update, stream, rows, language)
        if reverse:
            lengths = reversed_lengths(lengths)
        return TextBatch(ids[part.rows], lengths[part.rows], unseen), language


class ReadTerm(NamedTuple):
    """A term with the input of its loss; texts are paired with their language."""

    term: Term
    pairs: Tensor
    """[B], the image of each caption."""
    part: Share
    """The rows that this process embeds; the following fields have only these."""
    images: tuple[Tensor, ...]
    captions: tuple[TextBatch, str]
    others: tuple[TextBatch, str] | None = None
    caption_ids: tuple[Tensor, Tensor] | None = None
    """Ids and lengths of the captions to generate."""


class Read(NamedTuple):
    """The input of an update."""

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
