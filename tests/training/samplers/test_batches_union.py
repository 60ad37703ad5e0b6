"""All captions shuffled together."""

from itertools import islice

import numpy as np

from tests.training.samplers.planted import PER_IMAGE, data, sampler


def test_every_caption_with_an_image_once_an_epoch() -> None:
    source = data(text_only=4)
    union = sampler(source)
    for epoch in range(3):
        start = epoch * union.updates_per_epoch
        batches = list(islice(union.batches(start), union.updates_per_epoch))
        assert all(len(batch) == 1 and batch[0].others is None for batch in batches)
        rows = np.concatenate([batch[0].captions for batch in batches])
        assert sorted(rows.tolist()) == list(range(30 * sum(PER_IMAGE.values())))


def test_batches_are_of_several_languages_and_of_like_lengths() -> None:
    source = data()
    union = sampler(source, "training.buckets=36")
    spreads, languages = [], []
    for (term,) in islice(union.batches(0), union.updates_per_epoch):
        lengths = source.lengths[term.captions]
        spreads.append(int(lengths.max() - lengths.min()))
        languages.append(len({source.languages[row] for row in term.captions}))
    assert max(spreads) <= 1
    assert np.mean(languages) > 1.5
