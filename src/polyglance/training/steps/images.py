"""Updates of images with several captions each; texts and named things beside them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model
from polyglance.objectives import build_objective
from polyglance.objectives.objective import Objective
from polyglance.precision import autocast
from polyglance.recipes.schema import ImageSampling
from polyglance.text.embedders import EncodedTexts, TextBatch
from polyglance.training.augment import Augmenter
from polyglance.training.data import TrainingData
from polyglance.training.images import Pixels, step_images
from polyglance.training.samplers import ImageBatch, Sampler
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.naming import Names, build_naming

THINGS = 1
"""Crops of things are drawn apart from those of captioned images."""


class ReadImages(NamedTuple):
    """What an update is made of.

    Args:
        images: features of B images.
        captions: B · k texts, column by column.
        texts: P texts, then P others that say the same; None without any.
        things: features of N images of the dataset beside.
        names: N texts, or None.
        concepts: names of classes, or None.
        pixels: of the images, where the network in the tower sees them.
        thing_pixels: of the things, likewise.
    """

    images: tuple[Tensor, ...]
    captions: tuple[TextBatch, str]
    texts: TextBatch | None
    things: tuple[Tensor, ...]
    names: TextBatch | None
    concepts: Names | None
    pixels: Pixels | None = None
    thing_pixels: Pixels | None = None


class _Match(NamedTuple):
    """A loss of an update: rows [n] and columns [n] of embeddings that belong together."""

    rows: Tensor
    columns: Tensor
    objective: Objective
    weight: float


@steps.register("images")
class ImagesStep(Step):
    """Mean of the losses of images with each column of captions, and what comes beside.

    Images are embedded once, and all columns of captions together.
    """

    unit = "images"

    def __init__(self, model: Model, data: TrainingData, sampler: Sampler) -> None:
        assert isinstance(model.recipe.sampling, ImageSampling)
        self.model, self.data, self.rules = model, data, model.recipe.sampling
        self.warmup = model.recipe.loss.warmup(sampler.updates_per_epoch)
        self.objective = build_objective(model.recipe.loss)
        self.augmenter = Augmenter(model.recipe, model.embedder, data)
        per_epoch = sampler.updates_per_epoch
        self.images = step_images(model, data.features, self.augmenter, per_epoch)
        self.decodes = self.images.decodes
        if data.beside is not None:
            self.things = step_images(model, data.beside.features, None, per_epoch, THINGS)
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
        data, every = self.data, slice(None)
        pixels = self.images.look(update, batch.images)
        rows = batch.captions.T.ravel()
        language = data.languages[rows[0]]
        texts = names = thing_pixels = None
        things: tuple[Tensor, ...] = ()
        if data.texts is not None:
            texts = _batch(data.texts.read(batch.texts.T.ravel(), self.model.embedder))
        if data.beside is not None:
            thing_pixels = self.things.look(update, batch.things)
            things = self.things.read(update, 0, batch.things, every, thing_pixels)
            names = _batch(data.beside.texts, batch.names)
        return ReadImages(
            self.images.read(update, 0, batch.images, every, pixels),
            (self.augmenter.captions(update, 1, rows, language), language),
            texts,
            things,
            names,
            None if self.naming is None else self.naming.read(update),
            pixels,
            thing_pixels,
        )

    def outcome(self, update: int, prepared: ReadImages) -> StepOutcome:
        warming_up = update < self.warmup
        with self._half():
            seen = self.images.see(prepared.pixels)
        found = list(self._matches(prepared, seen))
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
            loss, equal = self.naming.loss(prepared.concepts, self.objective, warming_up)
            losses.append(loss)
            collapsed += equal
        if (forgotten := self.images.forgotten(prepared.pixels, seen)) is not None:
            losses.append(forgotten)
            collapsed += float(forgotten.detach())
        return StepOutcome(torch.stack(losses).sum(), collapsed, deviation)

    def _matches(self, read: ReadImages, seen: tuple[Tensor, ...]) -> Iterator[_Match]:
        """What is matched with what; images with captions first."""
        rules, network = self.rules, self.model.network
        with self._half():
            images = network.embed_images(*_wide(self.images.features(read.images, seen)))
            columns = network.embed_text(*read.captions).chunk(rules.captions)
        for column in columns:
            yield _Match(images, column, self.objective, 1 / len(columns))
        pairs = list(combinations(columns, 2)) if rules.c2c_weight else []
        for one, other in pairs:
            yield _Match(one, other, self.captions_objective, rules.c2c_weight / len(pairs))
        if read.texts is not None:
            with self._half():
                one, other = network.embed_text(read.texts).chunk(2)
            yield _Match(one, other, self.captions_objective, rules.text_weight)
        if read.names is not None and self.data.beside is not None:
            with self._half():
                seen = self.things.see(read.thing_pixels)
                things = network.embed_images(*_wide(self.things.features(read.things, seen)))
                names = network.embed_text(read.names)
            yield _Match(things, names, self.objective, self.data.beside.recipe.weight)

    def _half(self) -> AbstractContextManager[Any]:
        """Where the towers compute in the recipe's precision; losses never do."""
        return autocast(self.model.recipe.training.precision, self.model.device)


def _wide(images: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Features in float32, with lengths where they are sets."""
    return images[0].float(), *images[1:]


def _batch(texts: EncodedTexts, rows: np.ndarray | None = None) -> TextBatch:
    ids, lengths = (torch.from_numpy(part) for part in texts.ids.pad(rows))
    return TextBatch(ids, lengths, texts.unseen)
