"""A text tower that combines a pretrained sentence encoder with hashed subwords."""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import Linear
from polyglance.numerics.ragged import Ragged
from polyglance.pooling import valid
from polyglance.recipes.schema import Recipe, SentenceRecipe
from polyglance.storage.digest import content_digest
from polyglance.storage.files import cache_dir
from polyglance.text.embedders.base import Embedder
from polyglance.text.embedders.encoded import TextBatch
from polyglance.text.embedders.subwords.embedder import SubwordEmbedder
from polyglance.text.embedders.subwords.package import read_weights
from polyglance.text.encoders.frozen_states import FrozenStates
from polyglance.text.encoders.sentence import DIM, SentenceEncoder
from polyglance.text.encoders.tower import TextTower, Tower, towers

AT_A_TIME = 64
"""Batch size for frozen states."""
FOLDER = "sentences"
"""Subfolder of the cache for frozen states."""


@towers.register("sentence")
class SentenceTower(Tower):
    """Linear(normalised sentence) + Linear(sum of subwords' vectors / √count) → [B, D].

    The sentence encoder knows the words of its languages, including those that occur in no caption;
    subwords are learned from captions, in any language. The first linear layer is initialised as
    the identity, as far as the dimensions allow.
    """

    def __init__(self, recipe: Recipe, embedder: Embedder) -> None:
        super().__init__(recipe.joint.dim)
        settings, text = recipe.text.encoder, recipe.text
        assert isinstance(settings, SentenceRecipe)
        assert isinstance(embedder, SubwordEmbedder)
        self.settings, self.first_bucket = settings, embedder.first
        self.encoder = SentenceEncoder()
        if embedder.fresh:
            self.encoder.load_package_weights(read_weights())
        self.encoder.requires_grad_(settings.train == "all")
        self.encoder.dense.requires_grad_(settings.train != "none")
        self.dropout = nn.Dropout(text.dropout)
        self.projection = Linear(DIM, self.dim)
        nn.init.eye_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)
        self.word_dropout = nn.Dropout(text.word_dropout)
        hashed = embedder.settings.buckets > 0
        self.words = embedder.layer() if hashed else None
        self.word_projection = Linear(embedder.settings.word_dim, self.dim) if hashed else None
        self.frozen: FrozenStates | None = None
        """Cache of the lower layers' outputs, while training with these frozen."""

    def forward(self, batch: TextBatch, language: str | None = None) -> Tensor:
        inside = valid(batch.ids, batch.lengths)
        hashed = inside & (batch.ids >= self.first_bucket)
        counts = hashed.sum(1)
        sentences = self._sentences(batch.ids, batch.lengths - counts)
        if self.words is None:
            return self.join(sentences)
        buckets = batch.ids[hashed] - self.first_bucket
        sums = self.words.sums(buckets, counts, self._kept(buckets, sentences))
        return self.join(sentences, sums)

    def join(self, sentences: Tensor, sums: Tensor | None = None) -> Tensor:
        """Sentences [B, DIM], and sums [B, W] of subword vectors if used → [B, D]."""
        result = self.projection(self.dropout(functional.normalize(sentences, dim=1)))
        if sums is None or self.word_projection is None:
            return result
        return result + self.word_projection(self.word_dropout(sums))

    def vectors(self, batch: TextBatch, language: str | None = None) -> Tensor:
        raise TypeError("a sentence encoder has one vector per text")

    def portable(self) -> "dict[str, TextTower]":
        raise TypeError("a sentence encoder has its own tables; see runtime.encoding.sentence")

    def word_layers(self) -> list[nn.Module]:
        """The tables of hashed subwords and of the encoder's subwords."""
        return [*([] if self.words is None else [self.words]), self.encoder.pieces]

    def observe(self, ids: Ragged, cache: Path | None = None) -> None:
        """Cache the outputs of frozen layers from now on, in the folder `cache`."""
        if self.settings.train == "all" or not self.settings.cached:
            return
        layers = [*self.encoder.ngrams.state_dict().items()]
        layers += self.encoder.pieces.state_dict().items()
        name = content_digest(value.cpu().numpy() for _, value in layers)[:24]
        self.frozen = FrozenStates(self.settings.cached, DIM, cache_dir(cache) / FOLDER / name)

    def _sentences(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Sentences [B, DIM] of texts [B, T]; the first `lengths` [B] ids are the encoder's."""
        if self.settings.train == "all":
            return self.encoder(ids[:, : int(lengths.max())], lengths)
        with torch.no_grad():
            states = self._states(ids[:, : int(lengths.max())], lengths)
        return self.encoder.dense(states)

    def _states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        if self.frozen is None:
            return self.encoder.states(ids, lengths)
        return self.frozen.look_up(ids, lengths, self._compute)

    def _compute(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """States of texts, batched by length."""
        found = torch.empty(len(ids), DIM, device=ids.device)
        order = torch.argsort(lengths, stable=True)
        for some in order.split(AT_A_TIME):
            longest = int(lengths[some].max())
            found[some] = self.encoder.states(ids[some, :longest], lengths[some])
        return found

    def _kept(self, buckets: Tensor, like: Tensor) -> Tensor:
        """[total]: 1 for subwords that are used, 0 for those dropped in training."""
        ones = torch.ones(len(buckets), dtype=torch.float32, device=like.device)
        if not self.training or not self.settings.subword_drop:
            return ones
        return (torch.rand_like(ones) >= self.settings.subword_drop).to(ones.dtype)
