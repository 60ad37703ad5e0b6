"""Updates on tuples: matching, neighbourhoods, an adversary, masked words (MULE, SMALR)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model, TwoTower
from polyglance.objectives.masked import hide_words
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.objectives.triplets import match_images
from polyglance.pooling import valid
from polyglance.recipes.schema import TripletsRecipe, TupleSampling, masks_words
from polyglance.text.embedders import TextBatch, WordLayer
from polyglance.training.distributed import Share
from polyglance.training.images import Pixels, step_images
from polyglance.training.inputs.augment import Augmenter
from polyglance.training.inputs.data import TrainingData
from polyglance.training.optimization.schedule import total_updates
from polyglance.training.samplers import TupleBatch, TupleSampler
from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.constraints import Constraints, TupleEmbeddings

MASKS = 608
"""Stream of random numbers, distinct from those of the samplers."""


@steps.register("tuples")
class TuplesStep(Step):
    """The loss of a batch of images with captions in all languages.

    Args:
        model: to train.
        data: its captions and images.
        sampler: of the batches, which knows the languages.
    """

    unit = "images"
    splits = True

    def __init__(self, model: Model, data: TrainingData, sampler: TupleSampler) -> None:
        network, recipe = model.network, model.recipe
        assert isinstance(network, TwoTower)
        assert isinstance(recipe.sampling, TupleSampling)
        assert isinstance(recipe.loss, TripletsRecipe)
        self.model, self.network, self.data, self.recipe = model, network, data, recipe
        self.rules, self.loss = recipe.sampling, recipe.loss
        self.per_epoch = sampler.updates_per_epoch
        self.updates = total_updates(recipe.training, self.per_epoch)
        self.warmup = self.loss.warmup(self.per_epoch)
        numbers = {code: number for number, code in enumerate(sampler.codes)}
        self.language = np.array([numbers[code] for code in data.languages], np.int64)
        masks = [model.embedder.substitutes(code).mask for code in sampler.codes]
        self.mask = torch.tensor(masks)
        self.augmenter = Augmenter(recipe, model.embedder, data)
        self.images = step_images(model, data.features, self.augmenter, self.per_epoch)
        self.decodes = self.images.decodes
        layers = network.text.word_layers()
        self.words = [layer for layer in layers if isinstance(layer, WordLayer)]
        # Aligning needs two languages, with layers of their own to learn.
        aligns = len(sampler.codes) > 1 and any(layer.own_tables() for layer in self.words)
        first = max(self.rules.pretrain_epochs * self.per_epoch, self.rules.pretrain_updates)
        self.pretraining = first if aligns else 0
        self.parts = Constraints(recipe, self.words, len(sampler.codes))
        self.modules = {"model": network, "constraints": self.parts}

    def size(self, batch: TupleBatch) -> int:
        return len(batch.images)

    def evaluable(self, update: int) -> bool:
        return update > self.pretraining

    def thaw(self, update: int) -> None:
        self.images.thaw(update)

    def prepare(self, update: int, batch: TupleBatch) -> "ReadTuples":
        found, part = batch.distinct(self.data.ids), self.world.share(len(batch.images))
        shared = found.share(part)
        arrays = found.ids[shared.own], found.lengths[shared.own], self.language[found.rows]
        ids, lengths, languages = (torch.from_numpy(array) for array in arrays)
        captions = TextBatch(ids, lengths, self.data.unseen)
        has, places = torch.from_numpy(batch.has), torch.from_numpy(shared.places)
        languages = languages[torch.from_numpy(shared.order)]
        read = ReadTuples(batch.captions.size, has, part, shared.part, places, captions, languages)
        if update < self.pretraining:
            return read
        ranks = self.world.shared_rows(batch.images)
        pixels = self.images.load_pixels(update, ranks, self.world.rank)
        parts = self.images.read(update, 0, batch.images, part.rows, pixels)
        read = read._replace(images=parts, pixels=pixels)
        if not masks_words(self.rules):
            return read
        generator = np.random.default_rng([self.recipe.training.seed, update, MASKS])
        hidden = hide_words(found.lengths, ids.shape[1], self.rules.mask_share, generator)
        return self._hide(torch.from_numpy(hidden[shared.own]), read)

    def _hide(self, masks: Tensor, read: "ReadTuples") -> "ReadTuples":
        """The batch with the same captions masked: `masks` [n, T] bool."""
        ids, lengths, unseen = read.captions
        replaced = torch.where(masks, self.mask[read.own_languages].unsqueeze(1), ids)
        counted = valid(ids, lengths) & ~masks
        return read._replace(masked=TextBatch(replaced, lengths, unseen), counted=counted)

    def outcome(self, update: int, prepared: "ReadTuples") -> StepOutcome:
        self._freeze_words(update)
        has, loss = prepared.has, self.loss
        self.declare_share(prepared.part)
        if update < self.warmup:
            loss = loss.model_copy(update={"top": prepared.drawn})
        texts, averages = self._embed(prepared, prepared.captions)
        if update < self.pretraining:
            return StepOutcome(across_languages(texts.averages, has, loss), 0.0, np.inf)
        with self.autocast():
            outputs = self.images.run_network(prepared.pixels)
            images = self.network.embed_images(*self.images.features(prepared.images, outputs))
        images = prepared.part.gather(images)
        matching, cosines = match_images(texts.embeddings, images, has, loss)
        rest = [*self._neighbours(texts, has, loss), *self._constraints(update, averages, prepared)]
        if prepared.masked is not None:
            masked, _ = self._embed(prepared, prepared.masked, prepared.counted)
            rest += self._masked_losses(texts, masked, has)
            if self.rules.masked_matching:
                rest.append(match_images(masked.embeddings, images, has, loss)[0])
        added = torch.stack(rest).sum() if rest else matching.new_zeros(())
        # If all scores are equal, every hinge is the margin.
        hinges = loss.margin * (loss.caption_weight + loss.image_weight)
        collapsed = float(added.detach()) + hinges
        return StepOutcome(matching + added, collapsed, float(cosines.detach().std(correction=0)))

    def _embed(
        self, read: "ReadTuples", captions: TextBatch, counted: Tensor | None = None
    ) -> tuple[TupleEmbeddings, Tensor]:
        """Distinct captions in their positions, and average word vectors [m, W] of own captions.

        Args:
            read: the batch.
            captions: its own, or those with masked words.
            counted: [m, T] bool, the words to average; all by default.
        """
        with self.autocast():
            embeddings, averages = self.network.embed_with_averages(
                captions, read.own_languages, counted
            )
        return TupleEmbeddings(
            _by_position(embeddings, read), _by_position(averages, read)
        ), averages

    def _freeze_words(self, update: int) -> None:
        """Freeze word vectors while aligning languages, and renew the anchors."""
        for layer in self.words:
            layer.freeze(update < self.pretraining)
        refresh = self.recipe.compat.anchor and update % self.per_epoch == 0
        if refresh and self.parts.anchors is not None:
            self.parts.anchors.refresh()

    def _neighbours(
        self, texts: TupleEmbeddings, has: Tensor, loss: TripletsRecipe
    ) -> Iterator[Tensor]:
        rules = self.rules
        if rules.mono_weight:
            yield rules.mono_weight * same_language(texts.embeddings, has, loss)
        if rules.cross_weight and len(has) > 1:
            yield rules.cross_weight * across_languages(texts.embeddings, has, loss)
        if rules.cross_words_weight and len(has) > 1:
            yield rules.cross_words_weight * across_languages(texts.averages, has, loss)

    def _constraints(self, update: int, averages: Tensor, read: "ReadTuples") -> Iterator[Tensor]:
        """Losses of the adversary and the anchors."""
        if self.parts.classifier is not None:
            yield self.parts.classifier.loss(
                read.captions_part.gather(averages),
                read.languages,
                self.rules.adversary_weight,
                update / self.updates,
                scaled=self.recipe.compat.adversary,
            )
        if self.parts.anchors is not None:
            yield self.rules.anchor_weight * self.parts.anchors()

    def _masked_losses(
        self, whole: TupleEmbeddings, masked: TupleEmbeddings, has: Tensor
    ) -> list[Tensor]:
        if not self.parts.predictors:
            return []
        loss = self.parts.masked_loss(whole, masked, has, self.rules)
        return [self.rules.masking_weight * loss]


class ReadTuples(NamedTuple):
    """The input of an update: `drawn` captions, of which n are distinct.

    This process embeds a part of the images and the m captions of these.
    """

    drawn: int
    has: Tensor
    """[L, B] bool, whether an image has a language."""
    part: Share
    captions_part: Share
    places: Tensor
    """[L, b, k], positions of own captions in own images; m if there is none."""
    captions: TextBatch
    """Own captions, [m, T]."""
    languages: Tensor
    """[n], index of each caption's language, rank by rank."""
    images: tuple[Tensor, ...] = ()
    masked: TextBatch | None = None
    """The captions with masked words; averages are over the unmasked ones, `counted` [m, T]."""
    counted: Tensor | None = None
    pixels: Pixels | None = None

    @property
    def own_languages(self) -> Tensor:
        """[m], languages of own captions."""
        return self.languages[self.captions_part.rows]


def _by_position(vectors: Tensor, read: ReadTuples) -> Tensor:
    """Vectors [m, D] in the positions of all captions → [L, B, k, D], 0 if there is none."""
    own = torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])])[read.places]
    return read.part.gather(own.transpose(0, 1)).transpose(0, 1) if read.part.sizes else own
