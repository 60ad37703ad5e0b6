"""How the tokens of all languages are numbered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

NOTHING = 0
"""The token of a text without any known word; its vector is 0."""


@dataclass(frozen=True)
class Layout:
    """How tokens are numbered: `NOTHING`, `latent` shared ones, then each language's own.

    >>> Layout(2, {"de": 3, "en": 1}).own_ranges
    {'de': (3, 6), 'en': (6, 7)}
    """

    latent: int
    own: Mapping[str, int]

    @property
    def own_ranges(self) -> dict[str, tuple[int, int]]:
        """First token of each language's own, and the one after its last."""
        ranges, start = {}, 1 + self.latent
        for code, count in self.own.items():
            ranges[code] = (start, start + count)
            start += count
        return ranges

    @property
    def total(self) -> int:
        """All tokens with `NOTHING`; a mask, where there is one, has this number."""
        return 1 + self.latent + sum(self.own.values())


@dataclass(frozen=True)
class FirstVectors:
    """Vectors that tokens start from: languages' own [n, own_dim], and latent ones [m, dim]."""

    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    latent: np.ndarray | None = None
