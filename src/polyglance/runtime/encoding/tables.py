"""Quantised tables of vectors, of which only the rows that a text needs are read."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.tensors import Tensors

Bits = Literal[4, 8, 16, 32]
BLOCK = 128
"""Values of a row that share a scale, in four bits."""
SHRINK = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
"""Shares of a block's range to try: values at its ends are rare, and may be clipped."""
AT_A_TIME = 4096


class StoredTable:
    """Rows [n, D] of float32, stored as 16- or 32-bit floats or as codes: low + code · step.

    Args:
        tensors: `NAME.rows` [n, D], or `NAME.codes` uint8 [n, D] or, two per byte, [n, D / 2],
            with `NAME.low` and `NAME.step` [n, blocks].
        name: of the table.
        dim: D.
        where: the file, for error messages.
    """

    def __init__(self, tensors: Tensors, name: str, dim: int, where: str) -> None:
        parts = (tensors.get(f"{name}.{part}") for part in ("rows", "codes", "low", "step"))
        self.rows, self.codes, self.low, self.step = parts
        self.dim = dim
        if not self._sound():
            raise PolyglanceError(
                f"{where}: not the table '{name}' of dimension {dim}; export again"
            )

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Vectors float32 [k, D] of rows [k]."""
        kept = self._kept[rows]
        if self.low is None or self.step is None:
            return kept.astype(np.float32)
        if kept.shape[1] < self.dim:
            kept = np.stack([kept & 15, kept >> 4], 2)
        low, step = (part[rows].astype(np.float32)[:, :, None] for part in (self.low, self.step))
        wide = kept.reshape(len(kept), low.shape[1], self.dim // low.shape[1]).astype(np.float32)
        wide *= step
        wide += low
        return wide.reshape(len(kept), self.dim)

    @property
    def _kept(self) -> np.ndarray:
        kept = self.codes if self.rows is None else self.rows
        assert kept is not None
        return kept

    def _sound(self) -> bool:
        if self.rows is not None:
            return self.rows.ndim == 2 and self.rows.shape[1] == self.dim
        if self.codes is None or self.low is None or self.step is None:
            return False
        if self.codes.ndim != 2 or self.codes.dtype != np.uint8 or self.low.ndim != 2:
            return False
        blocks = self.low.shape[1]
        return (
            self.low.shape == self.step.shape
            and len(self.low) == len(self.codes)
            and self.codes.shape[1] in (self.dim, self.dim / 2)
            and blocks > 0
            and self.dim % blocks == 0
        )


def store_table(
    name: str, rows: np.ndarray, bits: Bits, spacing: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """The tensors of a table, as read by `StoredTable`.

    Args:
        name: of the table.
        rows: [n, D].
        bits: per value. With 4 bits, each block of `BLOCK` values has a scale, chosen for the
            least squared error; with 8, each row.
        spacing: [n], if all values of a row are multiples of this step apart: then eight bits are
            lossless and the most that is used, and four are lossless for most rows.
    """
    if bits > 8 and spacing is None:
        return {f"{name}.rows": rows.astype(np.float16 if bits == 16 else np.float32)}
    bits = min(bits, 8)
    blocks = rows.shape[1] // BLOCK if bits == 4 and not rows.shape[1] % BLOCK else 1
    if spacing is not None:
        blocks = 1  # one step per row
    parts = list(_quantised(rows, bits, blocks, spacing))
    codes, low, step = (np.concatenate(part) for part in zip(*parts, strict=True))
    if bits == 4:
        if codes.shape[1] % 2:
            raise PolyglanceError(f"4 bits need an even dimension, not {codes.shape[1]}")
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return {f"{name}.codes": codes, f"{name}.low": low, f"{name}.step": step}


def _quantised(
    rows: np.ndarray, bits: int, blocks: int, spacing: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Codes [k, D], low and step [k, blocks] of rows, in chunks."""
    kind = np.float16 if bits == 4 and spacing is None else np.float32
    for start in range(0, len(rows), AT_A_TIME):
        some = slice(start, start + AT_A_TIME)
        values = rows[some].astype(np.float32).reshape(len(rows[some]), blocks, -1)
        least = np.full(values.shape[:2], np.inf, np.float32)
        codes = np.zeros(values.shape, np.uint8)
        best_low, best_step = np.zeros((2, *least.shape), kind)
        own = None if spacing is None else spacing[some, None].astype(np.float32)
        for low, step in _candidates(values, 2**bits - 1, own):
            low, step = low.astype(kind), step.astype(kind)
            wide_low, wide_step = (p.astype(np.float32)[:, :, None] for p in (low, step))
            divisor = np.where(wide_step > 0, wide_step, 1)
            found = np.clip(np.rint((values - wide_low) / divisor), 0, 2**bits - 1)
            error = np.square(found * wide_step + wide_low - values).sum(2)
            better = error < least
            least[better] = error[better]
            codes[better], best_low[better], best_step[better] = (
                part[better] for part in (found.astype(np.uint8), low, step)
            )
        yield codes.reshape(len(values), -1), best_low, best_step


def _candidates(
    values: np.ndarray, top: int, spacing: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lows and steps [k, blocks] to try for values [k, blocks, size]."""
    lowest, highest = values.min(2), values.max(2)
    if spacing is not None:
        for step in (spacing, 2 * spacing):
            over = np.maximum(np.rint((highest - lowest) / step) - top, 0)
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                yield lowest + np.floor(over * share) * step, np.broadcast_to(step, lowest.shape)
    if top > 15 and spacing is not None:
        return
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2
    for share in SHRINK if top <= 15 else (1.0,):
        yield middle - half * share, 2 * half * share / top
