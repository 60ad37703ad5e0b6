"""The captions of an image, against a loop over all captions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyglance.training.samplers.captions_by_image import CaptionsByImage


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.randoms())
def test_runs_are_the_captions_of_an_image_in_order(owners: list[int], random) -> None:
    image = np.array(owners)
    rows = np.array(sorted(random.sample(range(len(owners)), random.randint(1, len(owners)))))
    images = np.unique(image)
    runs = CaptionsByImage(rows, image, images)
    for number, own in enumerate(images.tolist()):
        first, count = int(runs.first[number]), int(runs.count[number])
        expected = [row for row in rows.tolist() if owners[row] == own]
        assert runs.rows[first : first + count].tolist() == expected
