"""What frozen layers give for texts that come again and again in a training."""

from collections.abc import Callable
from threading import Lock

import numpy as np
import torch
from torch import Tensor

Compute = Callable[[Tensor, Tensor], Tensor]
"""Ids [B, T] with lengths [B] → states [B, D]."""


class FrozenStates:
    """States [n, D] of at most `limit` texts, found by their ids.

    Args:
        limit: texts at most; what comes later is computed each time.
        dim: dimension of a state.
    """

    def __init__(self, limit: int, dim: int) -> None:
        self.limit, self.dim = limit, dim
        self._rows: dict[bytes, int] = {}
        self._states = np.empty((0, dim), np.float32)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def look_up(self, ids: Tensor, lengths: Tensor, compute: Compute, keep: bool) -> Tensor:
        """States [B, D] of texts; those that are not kept are computed.

        Args:
            ids: [B, T], of texts.
            lengths: [B], of the texts.
            compute: what the layers do.
            keep: whether new ones are kept, while there is room.
        """
        keys = _keys(ids, lengths)
        rows = np.array([self._rows.get(key, -1) for key in keys])
        missing = np.flatnonzero(rows < 0)
        found = np.empty((len(keys), self.dim), np.float32)
        found[rows >= 0] = self._states[rows[rows >= 0]]
        if len(missing):
            some, counts = ids[missing], lengths[missing]
            found[missing] = compute(some[:, : int(counts.max())], counts).float().cpu().numpy()
            if keep:
                self._keep([keys[row] for row in missing], found[missing])
        return torch.from_numpy(found).to(ids.device)

    def _keep(self, keys: list[bytes], states: np.ndarray) -> None:
        with self._lock:
            for key, state in zip(keys, states, strict=True):
                row = len(self._rows)
                if key in self._rows or row >= self.limit:
                    continue
                if row == len(self._states):
                    size = min(self.limit, max(1024, 2 * row))
                    grown = np.empty((size, self.dim), np.float32)
                    grown[:row] = self._states
                    self._states = grown
                self._states[row] = state
                self._rows[key] = row


def _keys(ids: Tensor, lengths: Tensor) -> list[bytes]:
    numbers = ids.cpu().numpy().astype(np.int32)
    return [row[:count].tobytes() for row, count in zip(numbers, lengths.tolist(), strict=True)]
