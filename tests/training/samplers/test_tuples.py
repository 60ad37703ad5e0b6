"""Images with captions in every language that they have, against a loop over all captions."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes import load_recipe
from polyglance.training.assignment import NumberedWords
from polyglance.training.samplers import TupleSampler
from tests.training.samplers.planted import captions, sampler

CODES = ["cs", "de", "en"]
rows = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(CODES), st.booleans()), min_size=1, max_size=40
)


def make(found: list[tuple[int, str, bool]], wanted: int, size: int = 4) -> TupleSampler:
    """A sampler of captions (image, language, whether a word of it is known)."""
    ids = Ragged.join([[7, 8] if known else [0] for _, _, known in found])
    image = np.array([image for image, _, _ in found])
    data = NumberedWords(ids, image, [code for _, code, _ in found])
    changes = {
        "sampling": {"captions": wanted, "epoch": "images"},
        "training.batch_size": size,
    }
    return TupleSampler(load_recipe("mule", changes), data)


@given(rows, st.integers(1, 3))
def test_an_epoch_has_every_image_once_with_its_own_captions(
    found: list[tuple[int, str, bool]], wanted: int
) -> None:
    known = {row: (image, code) for row, (image, code, there) in enumerate(found) if there}
    if not known:
        with pytest.raises(PolyglanceError, match="no caption has a known word"):
            make(found, wanted)
        return
    made = make(found, wanted)
    assert made.codes == sorted({code for _, code, _ in found})
    images = sorted({image for image, _ in known.values()})
    assert made.updates_per_epoch == -(-len(images) // 4)
    batches = list(islice(made.batches(0), made.updates_per_epoch))
    assert sorted(np.concatenate([batch.images for batch in batches]).tolist()) == images
    for batch in batches:
        assert batch.captions.shape == (len(made.codes), len(batch.images), wanted)
        for number, code in enumerate(made.codes):
            for image, drawn in zip(batch.images, batch.captions[number].tolist(), strict=True):
                own = {row for row, place in known.items() if place == (image, code)}
                if not own:
                    assert drawn == [-1] * wanted
                    continue
                assert set(drawn) <= own
                # All of them before any twice.
                assert len(set(drawn)) == min(wanted, len(own))
        assert np.array_equal(batch.has, batch.captions[..., 0] >= 0)


@given(rows, st.integers(1, 3))
def test_distinct_captions_laid_out_are_the_batch(
    found: list[tuple[int, str, bool]], wanted: int
) -> None:
    if not any(known for *_, known in found):
        return
    made = make(found, wanted)
    ids = Ragged.join([list(range(1, 2 + row % 4)) for row in range(len(found))])
    for batch in islice(made.batches(0), 2):
        distinct = batch.distinct(ids)
        assert len(set(distinct.rows.tolist())) == len(distinct.rows)
        laid = np.append(distinct.rows, -1)[distinct.places]
        assert np.array_equal(laid, batch.captions)
        for row, own, length in zip(*distinct[:3], strict=True):
            assert own[:length].tolist() == ids[int(row)].tolist()


def test_captions_are_drawn_alike_and_the_same_from_any_start() -> None:
    found = [(image, "en", True) for image in range(8) for _ in range(5)]
    made = make(found, 2)
    drawn: Counter[int] = Counter()
    whole = list(islice(made.batches(0), 1000))
    for batch in whole:
        drawn.update(batch.captions.ravel().tolist())
    # 500 epochs draw 2 of the 5 captions of each image.
    assert set(drawn) == set(range(40))
    assert all(count == pytest.approx(200, abs=60) for count in drawn.values())
    for start in (1, 333):
        again = next(make(found, 2).batches(start))
        assert np.array_equal(again.images, whole[start].images)
        assert np.array_equal(again.captions, whole[start].captions)


def test_captions_without_images_are_left_out() -> None:
    image = np.repeat(np.arange(6), 2)
    source = captions(image, ["de", "en"] * 6, grounded=8)
    made = sampler(source, recipe="mule")
    batch = next(made.batches(0))
    assert sorted(batch.images.tolist()) == [0, 1, 2, 3]
    assert batch.captions.max() == 7


def test_an_epoch_over_captions_is_counted_as_the_authors_do() -> None:
    # MULE on Multi30K: 29,000 images with five English captions, batches of 450, 25 epochs.
    image = np.repeat(np.arange(290), 6)
    codes = (["en"] * 5 + ["fr"]) * 290
    data = NumberedWords(Ragged.join([[7]] * len(image)), image, codes)
    changes = {"training.batch_size": 45}
    captions = TupleSampler(load_recipe("mule", changes), data)
    assert captions.updates_per_epoch == 290 * 5 // 45 == 32
    images = TupleSampler(load_recipe("mule", {**changes, "sampling.epoch": "images"}), data)
    assert images.updates_per_epoch == 7  # 290 in batches of 45
    # The batches are the same; an epoch is a number of them.
    pairs = zip(islice(captions.batches(0), 40), islice(images.batches(0), 40), strict=True)
    assert all(np.array_equal(a.captions, b.captions) for a, b in pairs)
    # Every pass over the images has each of them once.
    passes = [batch.images for batch in islice(captions.batches(7), 7)]
    assert sorted(np.concatenate(passes).tolist()) == list(range(290))
    assert 145_000 // 450 * load_recipe("mule").training.epochs == 8050


def test_fewer_captions_than_a_batch_are_an_epoch_of_one_update() -> None:
    data = NumberedWords(Ragged.join([[7]] * 3), np.arange(3), ["en"] * 3)
    assert TupleSampler(load_recipe("mule"), data).updates_per_epoch == 1
