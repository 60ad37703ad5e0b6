"""Selects images that need exact scores, given approximate scores and bounds of their errors."""

from dataclasses import dataclass

import numpy as np

DIGITS = 6
"""Decimals to which scores are compared: duplicates of an image differ in the last bits,
depending on their position in a batch, and should be ties."""
_TIE = 10.0**-DIGITS


@dataclass(frozen=True)
class Page:
    """The requested part of a ranking; only images that can be on it need exact scores."""

    rows: np.ndarray
    """Images that are ranked."""
    top: int
    """Number of images."""
    everything: bool = True
    """Whether images below the cut-off count."""
    last_row: int | None = None
    """The image that the page follows, if it follows one that is still there."""
    last_score: float | None = None
    """The score that the page follows, if that image is gone."""

    def uncertain(self, low: np.ndarray, high: np.ndarray, cutoff: float | None) -> np.ndarray:
        """Rows whose exact scores determine the page, and whether any image matches.

        Args:
            low: the least possible score of each image [N].
            high: the highest possible score [N].
            cutoff: least score of a match; None if there is none.
        """
        least, most = low[self.rows], high[self.rows]
        start, end = self._limits(low, high)
        after = least[most < start - _TIE]
        enough = len(after) >= self.top
        floor = np.partition(after, -self.top)[-self.top] if enough else -np.inf
        if cutoff is not None and not self.everything:
            floor = max(floor, cutoff)
        chosen = (most >= floor - _TIE) & (least <= end + _TIE)
        if cutoff is not None and least.max(initial=-np.inf) < cutoff + _TIE:
            chosen |= most >= cutoff - _TIE  # it is not certain that any image matches
        found = self.rows[chosen]
        return found if self.last_row is None else np.append(found, self.last_row)

    def _limits(self, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        """The least and the highest score that the page can start below."""
        if self.last_row is not None:
            return float(low[self.last_row]), float(high[self.last_row])
        score = np.inf if self.last_score is None else self.last_score
        return score, score
