"""Strict recall: the share of an image's own captions among the first K, not just any of them."""

import numpy as np

from polyglance.evaluation.encoder import as_embeddings
from polyglance.evaluation.ranking.metrics import KS, fold_members
from polyglance.evaluation.ranking.ranks import check_index
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score, dot

BLOCK_SCORES = 1 << 23
"""Scores in memory at a time: 32 MiB of float32."""


def rank_own_captions(
    images: Embeddings, captions: Embeddings, caption_image: np.ndarray, score: Score = dot
) -> np.ndarray:
    """Rank [M] of every caption for its own image among all captions, including siblings.

    Ties are broken as in `rank_both`, among siblings by order.

    Args:
        images: [N, D] or sets.
        captions: [M, D] or sets.
        caption_image: [M], the image of each caption.
        score: maps images and captions to scores [n, M].
    """
    owner = check_index(len(images), len(captions), caption_image)
    order = np.argsort(owner, kind="stable")
    images, captions, owner = as_embeddings(images), as_embeddings(captions)[order], owner[order]
    starts = np.searchsorted(owner, np.arange(len(images) + 1))
    ranks = np.empty(len(captions), np.int64)
    rows = max(1, BLOCK_SCORES // len(captions))
    for a in range(0, len(images), rows):
        block = np.asarray(score(images[a : a + rows], captions))
        for column in range(starts[a], starts[min(a + rows, len(images))]):
            line = block[owner[column] - a]
            before = np.count_nonzero(line[:column] >= line[column])
            ranks[order[column]] = before + np.count_nonzero(line[column:] > line[column])
    return ranks


def strict_recalls(own_ranks: np.ndarray, caption_image: np.ndarray) -> dict[int, float]:
    """Mean over images of the percentage of their captions ranked below K, by K.

    With five captions per image, R@1 cannot exceed 20.

    >>> strict_recalls(np.array([0, 7]), np.array([0, 0]))
    {1: 50.0, 5: 50.0, 10: 100.0}
    """
    counts = np.bincount(caption_image)
    return {k: float(100 * np.mean(np.bincount(caption_image, own_ranks < k) / counts)) for k in KS}


def strict_folds(
    images: Embeddings,
    captions: Embeddings,
    caption_image: np.ndarray,
    folds: int = 1,
    score: Score = dot,
) -> dict[int, float]:
    """Strict recalls within each contiguous fold of images, averaged.

    Args:
        images: [N, D] or sets.
        captions: [M, D] or sets.
        caption_image: [M], the image of each caption.
        folds: number of folds; 1 for the full gallery.
        score: maps images and captions to scores [n, m].
    """
    parts = []
    for fold, members in fold_members(caption_image, len(images), folds):
        owner = caption_image[members] - fold.start
        ranks = rank_own_captions(images[fold], captions[members], owner, score)
        parts.append(strict_recalls(ranks, owner))
    return {k: sum(part[k] for part in parts) / folds for k in KS}
