"""Between arrays and a network: features go in as tensors, embeddings come out as arrays."""

from itertools import product

import numpy as np
import torch

from polyglance.models.networks.attention import Sets
from polyglance.models.networks.network import Network
from polyglance.numerics.devices import CPU, move
from polyglance.numerics.sets import Embeddings, VectorSets
from polyglance.vision.extraction.features import Features

IMAGES_AT_A_TIME, TEXTS_AT_A_TIME = 64, 512
"""Sets padded at a time where a model scores them."""


def to_tensors(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Features of images as the tower takes them: ([n, F],) or ([n, K, F], lengths [n])."""
    # Torch widens float16 about ten times as fast as numpy.
    vectors, *lengths = _gathered(features, rows)
    return vectors.float(), *lengths


def read_features(
    features: Features, rows: np.ndarray, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """`to_tensors` for a device they are yet to be copied to: half as many bytes off the CPU.

    Args:
        features: of the images and perhaps others.
        rows: [n], the images wanted.
        device: where they will be widened to float32.
    """
    return to_tensors(features, rows) if device.type == CPU else _gathered(features, rows)


def to_numpy(embeddings: torch.Tensor | Sets) -> Embeddings:
    """What a network embeds, off its device."""
    if isinstance(embeddings, Sets):
        vectors, lengths = (part.cpu().numpy() for part in embeddings)
        return VectorSets.from_padded(vectors, lengths)
    return embeddings.cpu().numpy()


def score_sets(
    network: Network, images: Embeddings, texts: Embeddings, device: torch.device
) -> np.ndarray:
    """Scores [n, m] of a network with cross-attention, tile by tile.

    Args:
        network: whose scores.
        images: n sets of vectors.
        texts: m sets of vectors.
        device: where the network is.
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
