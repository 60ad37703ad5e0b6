"""Evaluation shared out: every process encodes some batches, and all get all embeddings.

The batches are those of one process, so that the embeddings are the same to the last bit.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from torch import distributed

from polyglance.models import Model
from polyglance.numerics.sets import Embeddings, VectorSets
from polyglance.text.embedders import EncodedTexts
from polyglance.training.distributed.team import Team
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles

TEXTS, IMAGES, SCORED = 256, 512, 64
"""What the model encodes at a time, and the images whose sets it scores at a time."""


def encode_tokens(
    team: Team, model: Model, tokens: EncodedTexts, language: str | None
) -> Embeddings:
    """Embeddings of texts, as `Model.encode_tokens` gives them.

    Args:
        team: the processes.
        model: what encodes.
        tokens: n texts, the same on all ranks.
        language: of all of them.
    """
    if team.alone:
        return model.encode_tokens(tokens, language)
    lengths = tokens.ids.lengths

    def encode(rows: np.ndarray) -> Embeddings:
        part = EncodedTexts(tokens.ids[rows], None, tokens.unseen)
        return model.encode_tokens(part, language, TEXTS)

    order = np.argsort(-lengths, kind="stable")
    result = _zeros(model, model.network.text_sizes(lengths))
    return _filled(team, result, order, TEXTS, encode)


def encode_images(team: Team, model: Model, features: Features | ImageFiles) -> Embeddings:
    """Embeddings of images, as `Model.encode_available` gives them.

    Args:
        team: the processes.
        model: what encodes.
        features: of the images, or their files, the same on all ranks.
    """
    if team.alone:
        return model.encode_available(features)
    result = _zeros(model, model.network.image_sizes(features.lengths))
    if not isinstance(result, VectorSets):
        result[~features.available] = np.nan
    rows = np.flatnonzero(features.available)
    return _filled(team, result, rows, IMAGES, lambda some: model.encode_features(features, some))


def similarity(team: Team, model: Model, images: Embeddings, texts: Embeddings) -> np.ndarray:
    """Scores [n, m], as `Model.similarity` gives them; shared out where they are the work.

    Args:
        team: the processes.
        model: what scores.
        images: n embeddings, the same on all ranks.
        texts: m embeddings, the same on all ranks.
    """
    if team.alone or not model.attends:
        return model.similarity(images, texts)
    result, every = np.zeros((len(images), len(texts)), np.float32), np.arange(len(images))
    found = _filled(team, result, every, SCORED, lambda rows: model.similarity(images[rows], texts))
    return cast(np.ndarray, found)


def _filled(
    team: Team,
    result: Embeddings,
    order: np.ndarray,
    batch: int,
    encode: Callable[[np.ndarray], Embeddings],
) -> Embeddings:
    """Zeros in place of which are the results of all ranks: adding zeros changes nothing."""
    starts = range(0, len(order), batch)
    for start in starts[team.rank :: team.size]:
        rows = order[start : start + batch]
        result[rows] = encode(rows)
    values = result.flat if isinstance(result, VectorSets) else result
    distributed.all_reduce(torch.from_numpy(values), group=team.group)
    return result


def _zeros(model: Model, sizes: np.ndarray) -> Embeddings:
    if not model.attends:
        return np.zeros((len(sizes), model.dim), np.float32)
    return VectorSets.from_lengths(np.zeros((int(np.sum(sizes)), model.dim), np.float32), sizes)
