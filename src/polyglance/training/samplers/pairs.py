"""Caption pairs of the caption–caption task (Kádár et al. 2018, §3)."""

from itertools import combinations, product

import numpy as np


def caption_pairs(image: np.ndarray, languages: list[str]) -> np.ndarray:
    """Rows [P, 2]: for every image and unordered pair of languages, all pairs of captions.

    Five English and five German captions give 25 pairs; with one French and one Czech 46:

    >>> len(caption_pairs(np.zeros(12, int), ["en"] * 5 + ["de"] * 5 + ["fr", "cs"]))
    46
    """
    groups: dict[int, dict[str, list[int]]] = {}
    for row, (index, code) in enumerate(zip(image.tolist(), languages, strict=True)):
        groups.setdefault(index, {}).setdefault(code, []).append(row)
    pairs = [
        pair
        for by_language in groups.values()
        for first, second in combinations(sorted(by_language), 2)
        for pair in product(by_language[first], by_language[second])
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)
