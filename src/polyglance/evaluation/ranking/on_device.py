"""Ranking on the model's device: products, comparisons and sums stay there."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.evaluation.ranking.ranks import Progress, Ranks, check_finite, check_index
from polyglance.numerics.devices import CPU
from polyglance.numerics.similarity import Score, dot

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = (2048, 4096)
"""Images × captions in a tile: 32 MiB of float32 scores."""


class DotOnDevice:
    """Dot product as a `Score` for which `rank_both` runs on a device.

    The scores themselves are computed with numpy.

    Args:
        device: torch device of the model.
    """

    def __init__(self, device: Any) -> None:
        self.device = device

    def __call__(self, images: np.ndarray, captions: np.ndarray) -> np.ndarray:
        """Scores [n, m]."""
        return dot(images, captions)

    def rank_both(
        self,
        images: np.ndarray,
        captions: np.ndarray,
        caption_image: np.ndarray,
        chunk: tuple[int, int] | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """`ranks.rank_both` on the device, with the same tie rule.

        Args:
            images: [N, D].
            captions: [M, D].
            caption_image: [M], the image of each caption; every image has at least one.
            chunk: images and captions per tile of scores.
            progress: called with the number of captions ranked since the last call.
        """
        import torch

        owner = check_index(len(images), len(captions), caption_image)
        order = np.argsort(owner, kind="stable")
        arrays = (np.ascontiguousarray(part) for part in (images, captions[order], owner[order]))
        with torch.inference_mode():
            tensors = [torch.from_numpy(part).to(self.device) for part in arrays]
            counts = _Counts(tensors[0], tensors[1], tensors[2], chunk or CHUNK)
            rows, columns = counts.ranks(owner[order], progress)
        text_to_image = np.empty(len(captions), np.int64)
        text_to_image[order] = columns
        return Ranks(rows, text_to_image)


def score_on_device(model: Any, score: Score) -> Score:
    """The score to use: for dot products of a model on a device, one that ranks there.

    Args:
        model: of the embeddings.
        score: from `similarity_of`.
    """
    device = getattr(model, "device", None)
    if score is not dot or device is None or device.type == CPU:
        return score
    return DotOnDevice(device)


class _Counts:
    """Counts what ranks before the positives, for captions [M, D] sorted by image."""

    def __init__(
        self, images: "Tensor", captions: "Tensor", owner: "Tensor", chunk: tuple[int, int]
    ) -> None:
        self.images, self.captions, self.owner, self.chunk = images, captions, owner, chunk

    def ranks(self, owner: np.ndarray, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
        """Ranks of images [N] and captions [M]; `owner` [M] is on the CPU."""
        height, width = self.chunk
        own, kept = self._positives(owner)
        best = own.new_full((len(self.images),), -np.inf)
        best.scatter_reduce_(0, self.owner, own, "amax")
        rows, columns = self.owner.new_zeros(len(best)), self.owner.new_zeros(len(own))
        total = own.new_zeros(())
        for j in range(0, len(own), width):
            for a in range(0, len(best), height):
                tile = kept.pop((a, j)) if (a, j) in kept else self._score(a, j)
                total += tile.sum()  # NaN where any score is
                here, there = slice(a, a + height), slice(j, j + width)
                index = rows.new_ones(len(tile)).cumsum(0)[:, None] + (a - 1)
                mine, top, bar = self.owner[there], best[here, None], own[there]
                rows[here] += ((tile > top) | (tile == top) & (mine < index)).sum(1)
                columns[there] += ((tile > bar) | (tile == bar) & (index < mine)).sum(0)
            if progress is not None:
                progress(len(self.owner[j : j + width]))
        check_finite(np.asarray(total.cpu().numpy()))
        return rows.cpu().numpy(), columns.cpu().numpy()

    def _positives(self, owner: np.ndarray) -> tuple["Tensor", dict[tuple[int, int], "Tensor"]]:
        """Score of each caption with its image [M], and the tiles computed for it.

        The tiles are kept, so that compared scores come from the same product.
        """
        import torch

        own, kept = self.captions.new_zeros(len(owner)), {}
        height, width = self.chunk
        for j in range(0, len(owner), width):
            mine = owner[j : j + width]
            for a in range(mine[0] // height * height, mine[-1] + 1, height):
                kept[a, j] = tile = self._score(a, j)
                found = np.flatnonzero((mine >= a) & (mine < a + height))
                places = (
                    torch.from_numpy(part).to(own.device) for part in (mine[found] - a, found)
                )
                own[j + found[0] : j + found[-1] + 1] = tile[tuple(places)]
        return own, kept

    def _score(self, a: int, j: int) -> "Tensor":
        height, width = self.chunk
        return self.images[a : a + height] @ self.captions[j : j + width].T
