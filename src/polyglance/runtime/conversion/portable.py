"""A model's towers as torch modules that can be traced: arrays in, an embedding out."""

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.models import Model, TwoTower
from polyglance.text.embedders.layer import UnseenWords
from polyglance.text.encoders import SentenceTower, TextTower
from polyglance.vision.image_network import ImageNetwork
from polyglance.vision.networks.lite_network import Convolution

Ranges = list[tuple[int, int]]
"""First id and number of ids of consecutive rows."""


class TextGraph(nn.Module):
    """Rows of words [B, T] with lengths [B] → embeddings [B, D]; word vectors are stored.

    Rows beyond the table are words without an id, whose vectors [U, W] are passed with the call.

    Args:
        network: with the layers after the tower.
        tower: without its word layer.
        table: [n, W], word vectors.
    """

    table: Tensor

    def __init__(self, network: TwoTower, tower: TextTower, table: Tensor) -> None:
        super().__init__()
        self.network, self.tower = network, tower
        self.register_buffer("table", table)

    def forward(self, words: Tensor, lengths: Tensor, unseen: Tensor | None = None) -> Tensor:
        """Embeddings [B, D].

        Args:
            words: [B, T], rows of the table, or beyond it of `unseen`.
            lengths: [B], words of each text.
            unseen: [U, W], vectors of words without an id; None if all have one.
        """
        if unseen is None:
            return self.network.to_joint_space(self.tower.from_words(self.table, words, lengths))
        known = len(self.table)
        new = (words >= known).unsqueeze(2)
        own = self.table[words.clamp(max=known - 1)]
        vectors = torch.where(new, unseen[(words - known).clamp(min=0)], own)  # [B, T, W]
        places = torch.arange(words.shape[0] * words.shape[1]).view(words.shape)
        found = self.tower.from_words(vectors.flatten(0, 1), places, lengths)
        return self.network.to_joint_space(found)


class SentenceGraph(nn.Module):
    """Subword vectors [B, T, P] with lengths [B], sums of subword vectors → embeddings."""

    def __init__(self, network: TwoTower, tower: SentenceTower) -> None:
        super().__init__()
        self.network, self.tower = network, tower

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor | None = None) -> Tensor:
        """Embeddings [B, D].

        Args:
            pieces: [B, T, P], vectors of pieces.
            lengths: [B], pieces of each text.
            words: [B, W], sums of the vectors of hashed subwords; None if the model has none.
        """
        encoder = self.tower.encoder
        sentences = encoder.dense(encoder.ngrams(pieces, lengths))
        return self.network.to_joint_space(self.tower.join(sentences, words))


class ImageGraph(nn.Module):
    """Features [B, F], or sets [B, K, F] with lengths [B] → embeddings [B, D]."""

    def __init__(self, network: TwoTower) -> None:
        super().__init__()
        self.network = network

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.network.embed_images(features, lengths)


class GridGraph(nn.Module):
    """Standardised pixels [B, 3, S, S] → grid [B, F, h, w] of the image network in a tower."""

    def __init__(self, network: ImageNetwork) -> None:
        super().__init__()
        self.network = deepcopy(network).requires_grad_(False)
        for part in self.network.modules():
            if isinstance(part, Convolution):
                part.fold()

    def forward(self, pixels: Tensor) -> Tensor:
        return self.network.grid(pixels)


class PortableTower(NamedTuple):
    """A text tower, the ids of its rows, and the module for words without an id."""

    graph: TextGraph
    ranges: Ranges
    unseen: UnseenWords | None

    @property
    def word_dim(self) -> int:
        """Dimension of a word vector."""
        return self.graph.table.shape[1]


def portable_network(model: Model) -> TwoTower:
    """The network of a model with two towers and single-vector embeddings; else an error."""
    name = model.recipe.name
    network = model.network
    if not isinstance(network, TwoTower):
        raise PolyglanceError(
            f"'{name}' compares several vectors of an image with several of a text "
            f"(joint.similarity.kind={model.recipe.joint.similarity.kind}), so it cannot be "
            "exported; export a model whose similarity is cosine or order"
        )
    if network.consensus is not None:
        raise PolyglanceError(
            f"'{name}' adds knowledge about concepts to the towers (consensus), which cannot be "
            "exported; export a model without it, such as vsepp"
        )
    return network


def portable_towers(model: Model) -> dict[str, PortableTower]:
    """The text towers of a model by language, with precomputed word vectors."""
    network = portable_network(model)
    try:
        towers = network.text.portable()
        return {code: _tower(network, tower) for code, tower in towers.items()}
    except PolyglanceError as error:
        raise PolyglanceError(f"'{model.recipe.name}' cannot be exported: {error}") from None


def _tower(network: TwoTower, tower: TextTower) -> PortableTower:
    with torch.no_grad():
        ids = tower.words.known_ids()
        table = tower.words(ids)
        if tower.added is not None:
            ids = torch.cat([ids, tower.added.known_ids()])
            table = torch.cat([table, tower.added.vectors()])
    graph = TextGraph(network, tower, table.float().contiguous()).eval()
    return PortableTower(graph, ranges_of(ids.tolist()), tower.words.unseen_words())


def ranges_of(ids: list[int]) -> Ranges:
    """Runs of consecutive ids.

    >>> ranges_of([0, 1, 2, 7, 8])
    [(0, 3), (7, 2)]
    """
    found: Ranges = []
    for one in ids:
        if found and one == sum(found[-1]):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((one, 1))
    return found
