"""Batches of images, each with captions in several of its languages."""

from collections import Counter
from dataclasses import fields, replace
from itertools import islice

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.training.inputs.data import TrainingData
from polyglance.training.inputs.tuple_texts import TupleTexts
from polyglance.training.samplers import ImageBatch, ImageSampler
from tests.training.samplers.planted import captions, data, sampler

KIND = "sampling.kind=images"


def texts(*tuples: dict[str, list[str]], files: int = 1) -> TupleTexts:
    """Tuples of texts by language, the same in every file."""
    rows = [
        (text, number, code)
        for number, one in enumerate(tuples)
        for code, own in one.items()
        for text in own
    ]
    every = [
        (text, number + 100 * file, code) for file in range(files) for text, number, code in rows
    ]
    return TupleTexts(
        [row[0] for row in every],
        np.array([row[1] for row in every]),
        [row[2] for row in every],
        tuple(slice(i * len(rows), (i + 1) * len(rows)) for i in range(files)),
    )


def images(source: TrainingData, *settings: str) -> ImageSampler:
    made = sampler(source, KIND, *settings)
    assert isinstance(made, ImageSampler)
    return made


def same(one: ImageBatch, other: ImageBatch) -> bool:
    names = [field.name for field in fields(ImageBatch)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_the_same_updates_from_any_start() -> None:
    source = replace(data(), texts=texts(*[{"en": ["a"], "de": ["b"], "fr": ["c"]}] * 30))
    whole = list(islice(images(source).batches(0), 20))
    assert whole[0].texts.shape == (30, 2)
    for start in (1, 7, 15):
        rest = list(islice(images(source).batches(start), 20 - start))
        assert all(same(a, b) for a, b in zip(whole[start:], rest, strict=True))
    other = list(islice(images(source, "training.seed=1").batches(0), 20))
    assert not any(same(a, b) for a, b in zip(whole, other, strict=True))


def test_an_epoch_has_every_image_once() -> None:
    source = data(images=33)
    made = images(source)
    assert made.updates_per_epoch == 4
    for epoch in range(3):
        batches = list(islice(made.batches(4 * epoch), 4))
        assert sorted(np.concatenate([b.images for b in batches]).tolist()) == list(range(33))


def test_captions_are_of_their_image_and_in_languages_of_their_own() -> None:
    source = data(images=40)
    codes = np.array(source.languages)
    seen: Counter[str] = Counter()
    for batch in islice(images(source, "sampling.captions=3").batches(0), 200):
        assert batch.captions.shape == (10, 3)
        assert (source.image[batch.captions] == batch.images[:, None]).all()
        assert all(len(set(row)) == 3 for row in codes[batch.captions].tolist())
        seen.update(codes[batch.captions].ravel().tolist())
    # Languages are drawn alike, however many captions they have: 5, 5, 1 and 1.
    assert {code: count / 6000 for code, count in seen.items()} == pytest.approx(
        dict.fromkeys(["cs", "de", "en", "fr"], 0.25), abs=0.02
    )


def test_captions_of_a_language_are_drawn_alike() -> None:
    source = data(images=10, per_image={"en": 5, "de": 1})
    drawn = Counter(
        int(row) % 6 for b in islice(images(source).batches(0), 300) for row in b.captions.ravel()
    )
    assert drawn[5] == 3000
    assert [drawn[k] / 3000 for k in range(5)] == pytest.approx([0.2] * 5, abs=0.03)


def test_fewer_languages_come_again_with_other_captions() -> None:
    image, codes = np.array([0, 0, 0, 1, 1, 2]), ["en", "en", "en", "de", "en", "de"]
    made = images(captions(image, codes), "sampling.captions=3", "training.batch_size=3")
    for batch in islice(made.batches(0), 50):
        rows = {int(i): own.tolist() for i, own in zip(batch.images, batch.captions, strict=True)}
        assert sorted(rows[0]) == [0, 1, 2]
        assert set(rows[1]) == {3, 4}
        assert rows[1][0] != rows[1][1]
        assert rows[2] == [5, 5, 5]


def test_pairs_of_texts_are_of_one_tuple_and_two_languages() -> None:
    tuples = [{"en": [f"en{i}a", f"en{i}b"], "de": [f"de{i}"], "ka": [f"ka{i}"]} for i in range(20)]
    tuples.append({"ja": ["ja"], "ko": ["ko"]})
    tuples.append({"en": ["alone", "again"]})
    found = texts(*tuples)
    made = images(replace(data(), texts=found), "sampling.text_only=true", "sampling.text_pairs=8")
    first: Counter[str] = Counter()
    seen = set()
    for batch in islice(made.batches(0), 400):
        assert batch.texts.shape == (8, 2)
        owner = found.tuple_of[batch.texts]
        assert (owner[:, 0] == owner[:, 1]).all()
        assert len(set(owner[:, 0].tolist())) == 8
        for one, other in batch.texts:
            assert found.languages[one] != found.languages[other]
            first[found.languages[one]] += 1
            seen |= {found.texts[one], found.texts[other]}
    assert seen == set(found.texts) - {"alone", "again"}
    # One tuple of 21 has no English; the others begin with it in 7 of 10.
    assert first["en"] / 3200 == pytest.approx(0.7 * 20 / 21, abs=0.03)
    assert first["de"] == pytest.approx(first["ka"], rel=0.2)


def test_every_file_gives_as_many_pairs() -> None:
    tuples = [{"en": ["a"], "de": ["b"]}] * 50
    found = texts(*tuples, files=3)
    made = images(replace(data(), texts=found), "sampling.text_only=true", "sampling.text_pairs=10")
    batch = next(made.batches(0))
    assert Counter((batch.texts[:, 0] // 100).tolist()) == {0: 3, 1: 3, 2: 4}


def test_files_give_pairs_by_their_shares() -> None:
    tuples = [{"en": ["a"], "de": ["b"]}] * 50
    settings = ["sampling.text_pairs=13", "sampling.text_shares=[1, 1, 4]"]
    made = images(
        replace(data(), texts=texts(*tuples, files=3)), *settings, "sampling.text_files=[a, b, c]"
    )
    batch = next(made.batches(0))
    assert Counter((batch.texts[:, 0] // 100).tolist()) == {0: 2, 1: 2, 2: 9}


def test_shares_are_for_every_file() -> None:
    settings = ["sampling.text_shares=[1, 4]", "sampling.text_files=[a]"]
    with pytest.raises(PolyglanceError, match="2 for 1 files of text pairs; give one per file"):
        images(data(), *settings)


def test_a_file_without_pairs_is_refused() -> None:
    source = replace(data(), texts=texts({"en": ["a"]}, {"de": ["b"]}))
    with pytest.raises(PolyglanceError, match="no tuple with two languages"):
        images(source)
