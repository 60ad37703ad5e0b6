"""Mixtures of known words, against what they are defined as."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.alignment import AlignmentOptions, align
from polyglance.transfer.mixtures import (
    dictionary_mixtures,
    inflection_mixtures,
    neighbour_mixtures,
)
from tests.alignment.planted import languages

NEW, KNOWN = ["hond", "kat", "huis"], ["dog", "hound", "cat", "house", "home"]
RANKS = {"dog": 1, "cat": 2, "house": 3, "home": 7}


@given(st.lists(st.tuples(st.sampled_from(NEW), st.sampled_from(KNOWN)), max_size=12))
def test_translations_weigh_by_place_and_frequency(pairs: list[tuple[str, str]]) -> None:
    found = dictionary_mixtures(pairs, RANKS)
    for word in NEW:
        known = [b for a, b in pairs if a == word and b in RANKS]
        known = list(dict.fromkeys(known))
        if not known:
            assert word not in found
            continue
        weights = {b: 1 / (place * RANKS[b]) for place, b in enumerate(known, 1)}
        total = sum(weights.values())
        assert found[word] == pytest.approx({b: w / total for b, w in weights.items()})


def test_words_are_looked_up_as_tokenizers_spell_them() -> None:
    assert dictionary_mixtures([("Hund", "DOG")], {"dog": 1}) == {"hund": {"dog": 1.0}}
    turkish = dictionary_mixtures([("Izgara", "grill")], {"grill": 1}, "tr", "en")
    assert turkish == {"ızgara": {"grill": 1.0}}


@pytest.mark.parametrize("neighbours", [1, 3])
def test_neighbours_are_the_nearest_by_csls(neighbours: int) -> None:
    source, target, _ = languages(count=60, dim=8, noise=0.2)
    rows = np.stack([np.arange(40)] * 2, axis=1)
    alignment, _ = align(source, target, rows, AlignmentOptions(method="svd", show_progress=False))
    words = source.words[40:50]
    found = neighbour_mixtures(alignment, source, target, words, neighbours, 10.0)
    mapped, targets = alignment.apply(source.matrix), alignment.target(target.matrix)
    cosines = mapped @ targets.T
    hubness = -np.sort(-cosines, axis=0)[:10].mean(axis=0)
    for word in words:
        scores = 2 * cosines[source.index[word]] - hubness
        best = np.argsort(-scores)[:neighbours]
        weights = np.exp(10.0 * scores[best])
        expected = dict(zip((target.words[i] for i in best), weights / weights.sum(), strict=True))
        assert found[word] == pytest.approx(expected, rel=1e-3)


def test_forms_of_known_words_get_their_mixtures() -> None:
    mixtures = {"hond": {"dog": 1.0}, "huis": {"house": 0.5, "home": 0.5}}
    found = inflection_mixtures(mixtures, ["honden", "hond", "zebra"])
    assert found == {"honden": {"dog": 1.0}}
