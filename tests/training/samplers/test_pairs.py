"""Caption pairs against a loop over all pairs of captions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.training.samplers.pairs import caption_pairs
from tests.training.samplers.planted import PER_IMAGE, data


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["cs", "de", "en"])), max_size=25))
def test_all_pairs_of_an_image_in_two_languages(captions: list[tuple[int, str]]) -> None:
    image, languages = np.array([i for i, _ in captions], int), [code for _, code in captions]
    found = caption_pairs(image, languages)
    expected = [
        (a, b) if languages[a] < languages[b] else (b, a)
        for a, b in combinations(range(len(captions)), 2)
        if image[a] == image[b] and languages[a] != languages[b]
    ]
    assert found.shape == (len(expected), 2)
    assert sorted(map(tuple, found.tolist())) == sorted(expected)


@pytest.mark.parametrize(
    ("per_image", "pairs"),
    [
        ({"en": 5, "de": 5}, 25),
        (PER_IMAGE, 46),
        ({"en": 1, "de": 1, "fr": 1, "cs": 1}, 6),
        ({"en": 5}, 0),
    ],
)
def test_pairs_per_image_as_in_the_paper(per_image: dict[str, int], pairs: int) -> None:
    source = data(7, per_image)
    assert len(caption_pairs(source.image, source.languages)) == 7 * pairs
