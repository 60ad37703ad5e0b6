"""Images with one caption in every language."""

from collections import Counter
from itertools import combinations, islice

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from tests.training.samplers.planted import PER_IMAGE, captions, data, sampler


def test_one_caption_of_each_language_for_the_same_images() -> None:
    source = data()
    joint = sampler(source, "sampling.kind=joint", "sampling.c2c_weight=0.5")
    codes = sorted(PER_IMAGE)
    for terms in islice(joint.batches(0), 6):
        grounded, pairs = terms[:4], terms[4:]
        images = source.image[grounded[0].captions].tolist()
        assert len(set(images)) == len(images)
        assert all(source.image[term.captions].tolist() == images for term in terms)
        assert [source.languages[term.captions[0]] for term in grounded] == codes
        chosen = {code: term.captions for code, term in zip(codes, grounded, strict=True)}
        assert all(term.others is None and term.weight == 1 for term in grounded)
        for (a, b), term in zip(combinations(codes, 2), pairs, strict=True):
            assert np.array_equal(term.captions, chosen[a])
            assert np.array_equal(term.others, chosen[b])
            assert term.weight == 0.5


def test_an_epoch_has_every_complete_image_once_and_redraws_its_captions() -> None:
    # Image 3 has no German caption, image 4 has no English one.
    image = np.array([0, 0, 0, 1, 1, 2, 2, 3, 4])
    codes = ["de", "en", "en", "de", "en", "de", "en", "en", "de"]
    joint = sampler(captions(image, codes), "sampling.kind=joint", "training.batch_size=2")
    assert joint.updates_per_epoch == 2
    drawn: Counter[int] = Counter()
    for epoch in range(200):
        batches = list(islice(joint.batches(2 * epoch), 2))
        german = np.concatenate([terms[0].captions for terms in batches])
        assert sorted(image[german].tolist()) == [0, 1, 2]
        drawn.update(np.concatenate([terms[1].captions for terms in batches]).tolist())
    assert set(drawn) == {1, 2, 4, 6}
    assert drawn[1] + drawn[2] == drawn[4] == drawn[6] == 200
    assert drawn[1] == pytest.approx(100, abs=35)


def test_languages_without_an_image_in_common_are_refused() -> None:
    apart = captions(np.array([0, 1]), ["de", "en"])
    with pytest.raises(PolyglanceError, match="no image has captions in de, en"):
        sampler(apart, "sampling.kind=joint")


def test_an_epoch_over_captions_is_that_of_the_language_with_most() -> None:
    source = data(images=33)
    joint = sampler(source, "sampling.kind=joint", "sampling.epoch=captions")
    assert joint.updates_per_epoch == 33 * 5 // 10 == 16
    batches = [source.image[terms[0].captions] for terms in islice(joint.batches(0), 4)]
    assert sorted(np.concatenate(batches).tolist()) == list(range(33))
    # lavse on Multi30K: 29,000 images with five captions, batches of 128.
    assert 145_000 // 128 * load_recipe("liwe-joint").training.epochs == 33_960
