"""A disk cache of the frozen layers' outputs for texts, shared between trainings."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.storage.digest import short_digest
from polyglance.storage.locks import locked

Compute = Callable[[Tensor, Tensor], Tensor]
"""Ids [B, T] with lengths [B] → states [B, D]."""
STATES, KEYS, LOCK = "states.f16", "keys.bin", "lock"
DTYPE = np.dtype("<f2")
KEY = 16
"""Size of a text's digest, in bytes."""


class FrozenStates:
    """States [n, D] of at most `limit` texts, keyed by their ids.

    Stored in append-only files that are memory-mapped: float16 states, and a digest of each text's
    ids. States are written before their digests. New states are rounded like cached ones, so that a
    resumed training gets the same values. Processes may share a folder.

    Args:
        limit: most texts to cache; further ones are computed each time.
        dim: dimension of a state.
        folder: for these layers only, created on first write.
    """

    def __init__(self, limit: int, dim: int, folder: Path) -> None:
        self.limit, self.dim, self.folder = limit, dim, folder
        self._rows: dict[bytes, int] = {}
        self._states: np.ndarray = np.empty((0, dim), DTYPE)
        self._lock = Lock()
        self._read()

    def __len__(self) -> int:
        return len(self._rows)

    def look_up(self, ids: Tensor, lengths: Tensor, compute: Compute) -> Tensor:
        """States [B, D] of texts; missing ones are computed, and cached if there is room.

        Args:
            ids: [B, T], of texts.
            lengths: [B], of the texts.
            compute: the layers.
        """
        keys = _keys(ids, lengths)
        with self._lock:
            rows = np.array([self._rows.get(key, -1) for key in keys])
            found = np.empty((len(keys), self.dim), DTYPE)
            found[rows >= 0] = self._states[rows[rows >= 0]]
        # Duplicate texts are computed once.
        first = {keys[place]: place for place in np.flatnonzero(rows < 0)[::-1].tolist()}
        if first:
            missing = np.sort(np.array(list(first.values())))
            some, counts = ids[missing], lengths[missing]
            found[missing] = compute(some[:, : int(counts.max())], counts).float().cpu().numpy()
            for place in np.flatnonzero(rows < 0).tolist():
                found[place] = found[first[keys[place]]]
            with self._lock:
                self._keep([keys[place] for place in missing.tolist()], found[missing])
        return torch.from_numpy(found).to(ids.device).float()

    def _keep(self, keys: list[bytes], states: np.ndarray) -> None:
        if len(self._rows) >= self.limit:
            return
        try:
            with locked(self.folder / LOCK):
                self._read()
                new = [i for i, key in enumerate(keys) if key not in self._rows]
                new = new[: max(0, self.limit - len(self._rows))]
                # A killed process may have left states without digests.
                _append(self.folder / STATES, states[new].tobytes(), len(self) * self._width)
                _append(self.folder / KEYS, b"".join(keys[i] for i in new), len(self) * KEY)
                self._read()
        except OSError as error:
            raise PolyglanceError(
                f"{self.folder}: cannot be written ({error.strerror or error}); use another "
                "--cache, or set text.encoder.cached=0"
            ) from None

    @property
    def _width(self) -> int:
        return self.dim * DTYPE.itemsize

    def _read(self) -> None:
        """Read what was appended to the files since the last call."""
        paths = self.folder / STATES, self.folder / KEYS
        if not all(path.is_file() for path in paths):
            return
        sizes = [path.stat().st_size for path in paths]
        count, known = min(sizes[0] // self._width, sizes[1] // KEY), len(self._rows)
        if count <= known:
            return
        with paths[1].open("rb") as handle:
            handle.seek(known * KEY)
            data = handle.read((count - known) * KEY)
        for place in range(count - known):
            self._rows[data[place * KEY : (place + 1) * KEY]] = known + place
        self._states = np.memmap(paths[0], DTYPE, "r", shape=(count, self.dim))


def _append(path: Path, data: bytes, end: int) -> None:
    """Write after the first `end` bytes of a file, and truncate it there."""
    with path.open("r+b" if path.exists() else "w+b") as handle:
        handle.seek(end)
        handle.write(data)
        handle.truncate()


def _keys(ids: Tensor, lengths: Tensor) -> list[bytes]:
    numbers = ids.cpu().numpy().astype("<i4")
    pairs = zip(numbers, lengths.tolist(), strict=True)
    return [short_digest([row[:count]], KEY) for row, count in pairs]
