"""The numbering of all languages' tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

NOTHING = 0
"""The token of a text without known words; its vector is 0."""


@dataclass(frozen=True)
class Layout:
    """The numbering of tokens: `NOTHING`, `latent` shared ones, then each language's own.

    >>> Layout(2, {"de": 3, "en": 1}).own_ranges
    {'de': (3, 6), 'en': (6, 7)}
    """

    latent: int
    own: Mapping[str, int]

    @property
    def own_ranges(self) -> dict[str, tuple[int, int]]:
        """The range of each language's own tokens."""
        ranges, start = {}, 1 + self.latent
        for code, count in self.own.items():
            ranges[code] = (start, start + count)
            start += count
        return ranges

    @property
    def total(self) -> int:
        """Number of tokens including `NOTHING`; also the id of the mask, if any."""
        return 1 + self.latent + sum(self.own.values())


@dataclass(frozen=True)
class InitialVectors:
    """Initial vectors of tokens: own [n, own_dim] by language, and latent [m, dim]."""

    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    latent: np.ndarray | None = None
