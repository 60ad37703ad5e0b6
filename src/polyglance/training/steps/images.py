"""Updates on images with several captions each, plus text pairs and named things."""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.recipes.schema import ImageSampling
from polyglance.text.embedders import EncodedTexts, TextBatch
from polyglance.training.distributed import Share
from polyglance.training.images import Pixels, step_images
from polyglance.training.inputs.augment import Augmenter
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers import ImageBatch, Sampler
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.naming import Names, build_naming

THINGS = 1
"""Crops of things have random numbers of their own."""


class Parts(NamedTuple):
    """The rows that this process embeds: of images, text pairs and things."""

    images: Share
    texts: Share
    things: Share


class ReadImages(NamedTuple):
    """This process's part of an update.

    Args:
        parts: its rows: B images, P text pairs and N things.
        images: features of the B images.
        captions: B · k texts, column by column.
        texts: P texts, then P others with the same meaning; None without any.
        things: features of N images of the second dataset.
        names: N texts, or None.
        concepts: names of classes, or None.
        pixels: of the images, if the network in the tower sees them.
        thing_pixels: of the things, likewise.
    """

    parts: Parts
    images: tuple[Tensor, ...]
    captions: tuple[TextBatch, str]
    texts: TextBatch | None
    things: tuple[Tensor, ...]
    names: TextBatch | None
    concepts: Names | None
    pixels: Pixels | None = None
    thing_pixels: Pixels | None = None


class _Match(NamedTuple):
    """One loss of an update: rows [n] and columns [n] of matching embeddings."""

    rows: Tensor
    columns: Tensor
    objective: Objective
    weight: float


@steps.register("images")
class ImagesStep(Step):
    """Mean loss of images with each column of captions, plus the additional losses.

    Images are embedded once, and all columns of captions together.

    Args:
        model: to train.
        data: its captions and images.
        sampler: of the batches.
    """

    unit = "images"
    splits = True

    def __init__(self, model: Model, data: TrainingData, sampler: Sampler) -> None:
        assert isinstance(model.recipe.sampling, ImageSampling)
        self.model, self.data, self.rules = model, data, model.recipe.sampling
        self.warmup = model.recipe.loss.warmup(sampler.updates_per_epoch)
        self.objective = build_objective(model.recipe.loss)
        self.augmenter = Augmenter(model.recipe, model.embedder, data)
        per_epoch = sampler.updates_per_epoch
        self.images = step_images(model, data.features, self.augmenter, per_epoch)
        self.decodes = self.images.decodes
        if data.second_dataset is not None:
            self.things = step_images(model, data.second_dataset.features, None, per_epoch, THINGS)
        self.modules = {"model": model.network, "objective": self.objective}
        self.captions_objective = self.objective.for_captions()
        if self.captions_objective is not self.objective:
            self.modules["captions_objective"] = self.captions_objective
        self.naming = build_naming(model)

    def size(self, batch: ImageBatch) -> int:
        return len(batch.images)

    def thaw(self, update: int) -> None:
        self.images.thaw(update)

    def prepare(self, update: int, batch: ImageBatch) -> ReadImages:
        data, world = self.data, self.world
        counts = len(batch.images), len(batch.texts), len(batch.things)
        parts = Parts(*(world.share(count) for count in counts))
        own = parts.images.rows
        pixels = self.images.load_pixels(update, world.shared_rows(batch.images), world.rank)
        texts = names = thing_pixels = None
        things: tuple[Tensor, ...] = ()
        if data.texts is not None:
            pairs = batch.texts[parts.texts.rows].T.ravel()
            texts = _batch(data.texts.read(pairs, self.model.embedder))
        if data.second_dataset is not None:
            rows = parts.things.rows
            shared = world.shared_rows(batch.things)
            thing_pixels = self.things.load_pixels(update, shared, world.rank)
            things = self.things.read(update, 0, batch.things, rows, thing_pixels)
            names = _batch(data.second_dataset.texts, batch.names[rows])
        return ReadImages(
            parts,
            self.images.read(update, 0, batch.images, own, pixels),
            self._captions(update, batch, own),
            texts,
            things,
            names,
            None if self.naming is None else self.naming.read(update, world),
            pixels,
            thing_pixels,
        )

    def _captions(self, update: int, batch: ImageBatch, own: slice) -> tuple[TextBatch, str]:
        """Captions of this process's images, column by column, augmented as in the whole batch."""
        rows = batch.captions.T.ravel()
        language = self.data.languages[rows[0]]
        ids, lengths, unseen = self.augmenter.captions(update, 1, rows, language)
        shape = batch.captions.shape[1], len(batch.images)
        mine = torch.arange(len(rows)).view(shape)[:, own].flatten()
        return TextBatch(ids[mine], lengths[mine], unseen), language

    def outcome(self, update: int, prepared: ReadImages) -> StepOutcome:
        warming_up = update < self.warmup
        with self.autocast():
            outputs = self.images.run_network(prepared.pixels)
        found = list(self._matches(prepared, outputs))
        if not warming_up:
            for used in {id(match.objective): match.objective for match in found}.values():
                used.advance()
        losses, collapsed, deviation = [], 0.0, 0.0
        for number, match in enumerate(found):
            scores = self.model.network.scores(match.rows, match.columns)
            own = torch.arange(len(scores), device=scores.device)
            losses.append(match.weight * match.objective(scores, own, warming_up))
            collapsed += match.weight * match.objective.collapsed_value(len(scores), warming_up)
            if not number:
                deviation = float(scores.detach().std(correction=0))
        if self.naming is not None and prepared.concepts is not None:
            self.declare_share(prepared.concepts.part)
            loss, equal = self.naming.loss(prepared.concepts, self.objective, warming_up)
            losses.append(loss)
            collapsed += equal
        if (retention := self.images.retention_loss(prepared.pixels, outputs)) is not None:
            losses.append(self.world.sum(retention))
            collapsed += float(losses[-1].detach())
        return StepOutcome(torch.stack(losses).sum(), collapsed, deviation)

    def _matches(self, read: ReadImages, outputs: tuple[Tensor, ...]) -> Iterator[_Match]:
        """All matches of an update; images with captions come first."""
        rules, network, parts = self.rules, self.model.network, read.parts
        self.declare_share(parts.images)
        with self.autocast():
            images = network.embed_images(*self.images.features(read.images, outputs))
            captions = network.embed_text(*read.captions).chunk(rules.captions)
        images = parts.images.gather(images)
        columns = [parts.images.gather(column) for column in captions]
        for column in columns:
            yield _Match(images, column, self.objective, 1 / len(columns))
        pairs = list(combinations(columns, 2)) if rules.c2c_weight else []
        for one, other in pairs:
            yield _Match(one, other, self.captions_objective, rules.c2c_weight / len(pairs))
        if read.texts is not None:
            self.declare_share(parts.texts)
            with self.autocast():
                both = network.embed_text(read.texts).chunk(2)
            one, other = (parts.texts.gather(side) for side in both)
            yield _Match(one, other, self.captions_objective, rules.text_weight)
        if read.names is not None and self.data.second_dataset is not None:
            self.declare_share(parts.things)
            with self.autocast():
                outputs = self.things.run_network(read.thing_pixels)
                things = network.embed_images(*self.things.features(read.things, outputs))
                names = network.embed_text(read.names)
            things, names = (parts.things.gather(side) for side in (things, names))
            yield _Match(things, names, self.objective, self.data.second_dataset.recipe.weight)


def _batch(texts: EncodedTexts, rows: np.ndarray | None = None) -> TextBatch:
    ids, lengths = (torch.from_numpy(part) for part in texts.ids.pad(rows))
    return TextBatch(ids, lengths, texts.unseen)
