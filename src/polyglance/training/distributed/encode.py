"""Distributed evaluation: every process encodes some batches, and all get all embeddings.

The batches are the same as in one process, so that the embeddings are bit-identical.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from torch import distributed

from polyglance.models import Model
from polyglance.numerics.sets import Embeddings, VectorSets
from polyglance.text.embedders import EncodedTexts
from polyglance.training.distributed.world import World
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles

TEXTS, IMAGES, SCORED = 256, 512, 64
"""Batch sizes of encoding, and the number of images whose sets are scored at a time."""


def encode_tokens(
    world: World, model: Model, tokens: EncodedTexts, language: str | None
) -> Embeddings:
    """Embeddings of texts, as from `Model.encode_tokens`.

    Args:
        world: the processes.
        model: that encodes.
        tokens: n texts, the same on all ranks.
        language: of all texts.
    """
    if world.is_single:
        return model.encode_tokens(tokens, language)
    lengths = tokens.ids.lengths

    def encode(rows: np.ndarray) -> Embeddings:
        part = EncodedTexts(tokens.ids[rows], None, tokens.unseen)
        return model.encode_tokens(part, language, TEXTS)

    order = np.argsort(-lengths, kind="stable")
    result = _zeros(model, model.network.text_sizes(lengths))
    return _filled(world, result, order, TEXTS, encode)


def encode_images(world: World, model: Model, features: Features | ImageFiles) -> Embeddings:
    """Embeddings of images, as from `Model.encode_available`.

    Args:
        world: the processes.
        model: that encodes.
        features: of the images, or their files, the same on all ranks.
    """
    if world.is_single:
        return model.encode_available(features)
    result = _zeros(model, model.network.image_sizes(features.lengths))
    if not isinstance(result, VectorSets):
        result[~features.available] = np.nan
    rows = np.flatnonzero(features.available)
    return _filled(world, result, rows, IMAGES, lambda some: model.encode_features(features, some))


def similarity(world: World, model: Model, images: Embeddings, texts: Embeddings) -> np.ndarray:
    """Scores [n, m], as from `Model.similarity`; distributed if scoring is expensive.

    Args:
        world: the processes.
        model: that scores.
        images: n embeddings, the same on all ranks.
        texts: m embeddings, the same on all ranks.
    """
    if world.is_single or not model.attends:
        return model.similarity(images, texts)
    result, every = np.zeros((len(images), len(texts)), np.float32), np.arange(len(images))
    found = _filled(
        world, result, every, SCORED, lambda rows: model.similarity(images[rows], texts)
    )
    return cast(np.ndarray, found)


def _filled(
    world: World,
    result: Embeddings,
    order: np.ndarray,
    batch: int,
    encode: Callable[[np.ndarray], Embeddings],
) -> Embeddings:
    """Sum of all ranks' results, each zero outside its own rows."""
    starts = range(0, len(order), batch)
    for start in starts[world.rank :: world.size]:
        rows = order[start : start + batch]
        result[rows] = encode(rows)
    values = result.flat if isinstance(result, VectorSets) else result
    distributed.all_reduce(torch.from_numpy(values), group=world.group)
    return result


def _zeros(model: Model, sizes: np.ndarray) -> Embeddings:
    if not model.attends:
        return np.zeros((len(sizes), model.dim), np.float32)
    return VectorSets.from_lengths(np.zeros((int(np.sum(sizes)), model.dim), np.float32), sizes)
