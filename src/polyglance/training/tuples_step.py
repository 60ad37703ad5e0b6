"""Updates of tuples: matching, neighbourhoods, an adversary, masked words (spec §5.2–5.5)."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from polyglance.models import Model, TwoTower
from polyglance.models.model import to_tensors
from polyglance.objectives.masked import hide_words
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.objectives.triplets import match_images
from polyglance.pooling import valid
from polyglance.recipes.schema import (
    PiecesEmbedderRecipe,
    TransformerEmbedderRecipe,
    TripletsRecipe,
    TupleSampling,
)
from polyglance.text.universal_words import UniversalWords
from polyglance.training.augment import Augmenter
from polyglance.training.constraints import Constraints, Texts
from polyglance.training.data import TrainingData
from polyglance.training.schedule import total_updates
from polyglance.training.step import Outcome, Step
from polyglance.training.tuples import Tuples, TuplesFeed

MASKS = 608
"""A stream of random numbers beside those of the feeds."""


class TuplesStep(Step):
    """The loss of a batch of photographs with captions in every language."""

    unit = "photographs"

    def __init__(
        self, model: Model, data: TrainingData, feed: TuplesFeed, rules: TupleSampling
    ) -> None:
        assert isinstance(model.network, TwoTower)
        assert isinstance(model.recipe.loss, TripletsRecipe)
        self.network, self.data, self.recipe = model.network, data, model.recipe
        self.rules, self.loss = rules, model.recipe.loss
        self.per_epoch = feed.updates_per_epoch
        self.updates = total_updates(self.recipe.training, self.per_epoch)
        self.warmup = self.loss.warmup(self.per_epoch)
        numbers = {code: number for number, code in enumerate(feed.codes)}
        self.speaker = np.array([numbers[code] for code in data.languages], np.int64)
        self.mask = torch.tensor([model.reader.substitutes(code).mask for code in feed.codes])
        self.augmenter = Augmenter(model.recipe, model.reader, data.tokens, data.joined)
        self.words = [m for m in self.network.modules() if isinstance(m, UniversalWords)]
        # There must be two languages to align, and layers of theirs to learn.
        aligns = len(feed.codes) > 1 and any(layer.own_tables() for layer in self.words)
        first = max(self.rules.pretrain_epochs * self.per_epoch, self.rules.pretrain_updates)
        self.pretraining = first if aligns else 0
        embedder = self.recipe.text.embedder
        assert not isinstance(embedder, PiecesEmbedderRecipe | TransformerEmbedderRecipe)
        sizes = self.recipe.joint.dim, embedder.word_dim
        self.parts = Constraints(rules, self.words, len(feed.codes), *sizes)
        self.modules = {"model": self.network, "constraints": self.parts}

    def size(self, batch: Tuples) -> int:
        return len(batch.photos)

    def judged(self, update: int) -> bool:
        return update > self.pretraining

    def outcome(self, update: int, batch: Tuples) -> Outcome:
        self._prepare(update)
        found = batch.distinct(self.data.tokens)
        has, places = torch.from_numpy(batch.has), torch.from_numpy(found.places)
        arrays = found.ids, found.lengths, self.speaker[found.rows]
        ids, lengths, speakers = (torch.from_numpy(array) for array in arrays)
        loss = self.loss
        if update < self.warmup:
            loss = loss.model_copy(update={"top": batch.captions.size})
        points, averages = self.network.read_text(ids, lengths, speakers)
        texts = Texts(_lay(points, places), _lay(averages, places))
        if update < self.pretraining:
            return Outcome(across_languages(texts.averages, has, loss), 0.0, np.inf)
        parts = to_tensors(self.data.features, batch.photos)
        images = self.network.embed_images(*self.augmenter.images(update, 0, parts))
        matching, cosines = match_images(texts.points, images, has, loss)
        rest = [*self._neighbours(texts, has, loss), *self._held(update, averages, speakers)]
        if self.rules.masking_weight:
            masked = self._masked(update, ids, lengths, speakers, places)
            rest += self._modelled(texts, masked, has)
            if self.rules.masked_matching:
                rest.append(match_images(masked.points, images, has, loss)[0])
        added = torch.stack(rest).sum() if rest else matching.new_zeros(())
        # Where all scores are alike, every hinge is the margin.
        collapsed = float(added.detach()) + loss.margin * (loss.caption_weight + loss.image_weight)
        return Outcome(matching + added, collapsed, float(cosines.detach().std(correction=0)))

    def _prepare(self, update: int) -> None:
        for layer in self.words:
            layer.frozen = update < self.pretraining
        refresh = self.recipe.compat.anchor and update % self.per_epoch == 0
        if refresh and self.parts.anchors is not None:
            self.parts.anchors.refresh()

    def _neighbours(self, texts: Texts, has: Tensor, loss: TripletsRecipe) -> Iterator[Tensor]:
        rules = self.rules
        if rules.mono_weight:
            yield rules.mono_weight * same_language(texts.points, has, loss)
        if rules.cross_weight and len(has) > 1:
            yield rules.cross_weight * across_languages(texts.points, has, loss)
        if rules.cross_words_weight and len(has) > 1:
            yield rules.cross_words_weight * across_languages(texts.averages, has, loss)

    def _held(self, update: int, averages: Tensor, speakers: Tensor) -> Iterator[Tensor]:
        """The adversary and the anchors."""
        if self.parts.classifier is not None:
            yield self.parts.classifier.loss(
                averages,
                speakers,
                self.rules.adversary_weight,
                update / self.updates,
                scaled=self.recipe.compat.adversary,
            )
        if self.parts.anchors is not None:
            yield self.rules.anchor_weight * self.parts.anchors()

    def _masked(
        self, update: int, ids: Tensor, lengths: Tensor, speakers: Tensor, places: Tensor
    ) -> Texts:
        """The same captions with masked words, which the averages leave out."""
        generator = np.random.default_rng([self.recipe.training.seed, update, MASKS])
        hidden = hide_words(lengths.numpy(), ids.shape[1], self.rules.mask_share, generator)
        masks = torch.from_numpy(hidden)
        replaced = torch.where(masks, self.mask[speakers].unsqueeze(1), ids)
        counted = valid(ids, lengths) & ~masks
        points, averages = self.network.read_text(replaced, lengths, speakers, counted)
        return Texts(_lay(points, places), _lay(averages, places))

    def _modelled(self, whole: Texts, masked: Texts, has: Tensor) -> list[Tensor]:
        if not self.parts.predictors:
            return []
        loss = self.parts.masked_loss(whole, masked, has, self.rules.detach)
        return [self.rules.masking_weight * loss]


def _lay(vectors: Tensor, places: Tensor) -> Tensor:
    """Vectors [n, D] in their places [L, B, k] → [L, B, k, D], 0 where there is none."""
    return torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])])[places]
