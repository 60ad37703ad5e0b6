"""Conversion between arrays and a network's tensors."""

from itertools import product

import numpy as np
import torch

from polyglance.models.networks.attention import Sets
from polyglance.models.networks.network import Network
from polyglance.numerics.devices import CPU, move
from polyglance.numerics.sets import Embeddings, VectorSets
from polyglance.vision.extraction.features import Features

IMAGES_AT_A_TIME, TEXTS_AT_A_TIME = 64, 512
"""Sets per tile of scores."""


def to_tensors(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Features as inputs of the tower: ([n, F],) or ([n, K, F], lengths [n])."""
    # torch converts float16 about ten times as fast as numpy.
    vectors, *lengths = _gathered(features, rows)
    return vectors.float(), *lengths


def read_features(
    features: Features, rows: np.ndarray, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """`to_tensors`, but for another device in float16, to halve the bytes to copy.

    Args:
        features: of the images and perhaps others.
        rows: [n], the images to use.
        device: that converts them to float32.
    """
    return to_tensors(features, rows) if device.type == CPU else _gathered(features, rows)


def to_numpy(embeddings: torch.Tensor | Sets) -> Embeddings:
    """A network's embeddings as arrays."""
    if isinstance(embeddings, Sets):
        vectors, lengths = (part.cpu().numpy() for part in embeddings)
        return VectorSets.from_padded(vectors, lengths)
    return embeddings.cpu().numpy()


def score_sets(
    network: Network, images: Embeddings, texts: Embeddings, device: torch.device
) -> np.ndarray:
    """Scores [n, m] of a network with cross-attention, tile by tile.

    Args:
        network: to score with.
        images: n sets of vectors.
        texts: m sets of vectors.
        device: of the network.
    """
    result = np.empty((len(images), len(texts)), np.float32)
    with torch.inference_mode():
        for a, b in product(
            range(0, len(images), IMAGES_AT_A_TIME), range(0, len(texts), TEXTS_AT_A_TIME)
        ):
            place = slice(a, a + IMAGES_AT_A_TIME), slice(b, b + TEXTS_AT_A_TIME)
            tile = _to_torch(images[place[0]]), _to_torch(texts[place[1]])
            result[place] = network.scores(*move(tile, device)).cpu().numpy()
    return result


def _gathered(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    gathered = features.gather(rows, np.float16)
    parts = gathered if isinstance(gathered, tuple) else (gathered,)
    return tuple(torch.from_numpy(part) for part in parts)


def _to_torch(embeddings: Embeddings) -> torch.Tensor | Sets:
    if isinstance(embeddings, VectorSets):
        return Sets(*(torch.from_numpy(part) for part in embeddings.pad()))
    return torch.from_numpy(np.asarray(embeddings, np.float32))
