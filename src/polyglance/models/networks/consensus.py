"""Consensus-aware embeddings: concepts that captions share (Wang et al. 2020, CVSE, §3)."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.models.networks.similarity import l2
from polyglance.numerics.batch_norm import BatchNorm
from polyglance.numerics.precision import full_precision
from polyglance.numerics.products import Linear
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import ConsensusRecipe
from polyglance.text.embedders.table import TableEmbedder
from polyglance.text.embedders.vocabulary import SPECIALS

_ENGLISH = """
a an the this that these those some any each every both all another other and or but nor so as of in
on at by to from with without into onto over under up down out off through across along around near
behind beside between above below against while where when which who what whose is are was were be
been being am do does did done has have had having can could will would may might must should it its
he his him she her they their them i you we our your my there here not no n't 's 're 've 'll 'd 'm
one if than then very just about during after before
"""
FUNCTION_WORDS = frozenset(_ENGLISH.split())
"""English words that are not concepts; the authors keep nouns, verbs and adjectives."""
THRESHOLD, BASE, SHIFT = 0.3, 5.0, 0.02
"""Constants of the concept graph, as in the authors' code."""


class Levels(NamedTuple):
    """Embeddings [B, D]: instance, consensus and fused; and the shares of concepts [B, C]."""

    instance: Tensor
    consensus: Tensor
    fused: Tensor
    shares: Tensor


class ConceptShares(nn.Module):
    """Weights of concepts for images or texts: [B, D], [C, D] → [B, C]."""

    def __init__(self, dim: int, smooth: float) -> None:
        super().__init__()
        self.concepts = nn.Sequential(Linear(dim, dim), BatchNorm(dim), nn.Tanh())
        self.instances = nn.Sequential(Linear(dim, dim), BatchNorm(dim), nn.Tanh())
        self.weight = nn.Linear(dim, 1)
        self.smooth = smooth

    def forward(self, instances: Tensor, concepts: Tensor) -> Tensor:
        """Weights that sum to 1 for each instance."""
        weighted = self.instances(instances) * self.weight.weight
        return (self.smooth * (weighted @ self.concepts(concepts).t() + self.weight.bias)).softmax(
            1
        )


class Consensus(nn.Module):
    """Concepts of the vocabulary, a graph convolution over them, and their share in embeddings.

    The labels of a text are the concepts among its own words. The authors use those of all five
    captions of its image, which leaks the image's other captions (Chen et al. 2021, VSE∞,
    supplement §1.1).

    Args:
        recipe: of the consensus.
        dim: of the joint space.
        embedder: whose vocabulary has the concepts.
    """

    concepts: Tensor
    inputs: Tensor
    graph: Tensor
    place: Tensor

    def __init__(self, recipe: ConsensusRecipe, dim: int, embedder: TableEmbedder) -> None:
        super().__init__()
        self.recipe = recipe
        words = embedder.vocabulary(None).words
        found = [
            number
            for number, word in enumerate(words)
            if number >= len(SPECIALS) and word not in FUNCTION_WORDS and word[:1].isalpha()
        ][: recipe.concepts]
        place = torch.full((len(words) + 1,), len(found))
        place[found] = torch.arange(len(found))
        self.register_buffer("concepts", torch.tensor(found, dtype=torch.long))
        self.register_buffer("place", place, persistent=False)
        self.register_buffer("inputs", torch.zeros(len(found), embedder.settings.word_dim))
        self.register_buffer("graph", torch.eye(len(found)))
        half = max(1, dim // 2)
        self.first = nn.Parameter(torch.empty(embedder.settings.word_dim, half))
        self.second = nn.Parameter(torch.empty(half, dim))
        for weight in (self.first, self.second):
            nn.init.uniform_(weight, -(weight.shape[1] ** -0.5), weight.shape[1] ** -0.5)
        self.image_shares = ConceptShares(dim, recipe.smooth)
        self.text_shares = ConceptShares(dim, recipe.smooth)

    def observe(self, ids: Ragged, words: Tensor) -> None:
        """Build the concept graph from the training captions, and set the concepts' inputs.

        Args:
            ids: of the training captions.
            words: [V, W], initial vectors of all words.
        """
        self.inputs.copy_(words.detach()[self.concepts])
        owner = np.repeat(np.arange(len(ids)), ids.lengths)
        place = self.place.cpu().numpy()[np.minimum(ids.flat, len(self.place) - 1)]
        count = len(self.concepts)
        known = place < count
        named = np.zeros((len(ids), count), np.float32)
        named[owner[known], place[known]] = 1
        self.graph.copy_(torch.from_numpy(concept_graph(named.T @ named)).float())

    def images(self, instances: Tensor) -> Levels:
        """Levels of images from their embeddings [B, D]."""
        with full_precision(instances.device):
            concepts = self._basis()
            return self._levels(instances, concepts, self.image_shares(instances, concepts))

    def texts(self, instances: Tensor, ids: Tensor, lengths: Tensor) -> Levels:
        """Levels of texts, whose words are used as labels.

        Args:
            instances: [B, D], embeddings of the texts.
            ids: [B, T], of their words.
            lengths: [B], words per text.
        """
        with full_precision(instances.device):
            concepts, share = self._basis(), self.recipe.label_share
            labels = self.labels(ids, lengths)
            known = (self.recipe.smooth * labels).softmax(1)
            shares = share * known + (1 - share) * self.text_shares(instances, concepts)
            return self._levels(instances, concepts, shares)

    def labels(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """[B, C]: 1 for the concepts among a text's own words."""
        count = len(self.concepts)
        place = self.place[ids.clamp(max=len(self.place) - 1)]
        outside = torch.arange(ids.shape[1], device=ids.device) >= lengths.unsqueeze(1)
        found = self.inputs.new_zeros(len(ids), count + 1)
        return found.scatter(1, place.masked_fill(outside, count), 1.0)[:, :count]

    def _basis(self) -> Tensor:
        """The concepts' vectors [C, D]: two layers of graph convolution, ℓ2."""
        hidden = functional.leaky_relu(self.graph @ self.inputs @ self.first, 0.2)
        return l2(self.graph @ hidden @ self.second)

    def _levels(self, instances: Tensor, concepts: Tensor, shares: Tensor) -> Levels:
        consensus = l2(shares @ concepts)
        part = self.recipe.fusion
        return Levels(instances, consensus, l2(part * instances + (1 - part) * consensus), shares)


def concept_graph(together: np.ndarray) -> np.ndarray:
    """The concept graph [C, C] from co-occurrence counts [C, C] in captions (CVSE, Eq. 1–4).

    P(j | i) = N_ij / N_i, smoothed to 5^(P − 0.02) − 5^(−0.02), binarised at 0.3, normalised to a
    column sum of 0.25, plus the identity, then D^(−½) A D^(−½).

    >>> concept_graph(np.array([[4.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    counts = np.maximum(np.diag(together), 1)[:, None]
    share = together / counts
    np.fill_diagonal(share, 0)
    linked = (BASE ** (share - SHIFT) - BASE**-SHIFT >= THRESHOLD).astype(np.float64)
    graph = 0.25 * linked / (linked.sum(0, keepdims=True) + 1e-6) + np.eye(len(linked))
    scale = graph.sum(1) ** -0.5
    found: np.ndarray = (graph * scale).T * scale
    return found
