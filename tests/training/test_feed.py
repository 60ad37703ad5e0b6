"""Feeds: frequencies, reshuffling, and the same updates from any start."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from polyglance.training.feed import Feed, Term, build_feed
from polyglance.training.pairs import caption_pairs

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text import Ragged
from polyglance.training.data import TrainingData

PER_PHOTO = {"en": 5, "de": 5, "fr": 1, "cs": 1}


def data(
    photos: int = 30, per_photo: dict[str, int] = PER_PHOTO, text_only: int = 0
) -> TrainingData:
    codes = [code for code, n in per_photo.items() for _ in range(n)]
    languages = codes * (photos + text_only)
    photo = np.repeat(np.arange(photos + text_only), len(codes))
    lengths = 3 + np.arange(len(photo)) % 5
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = Ragged(np.full(offsets[-1], 4, np.int32), offsets)
    return TrainingData(tokens, photo, None, languages, photos * len(codes))  # type: ignore[arg-type]


def feed(source: TrainingData, *overrides: str) -> Feed:
    return build_feed(
        load_recipe("vsepp", parse_overrides(["training.batch_size=10", *overrides])), source
    )


def same(a: list[Term], b: list[Term]) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(x.captions, y.captions)
        and (x.others is None) == (y.others is None)
        and (x.others is None or np.array_equal(x.others, y.others))
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize(
    ("per_photo", "pairs"),
    [
        ({"en": 5, "de": 5}, 25),
        (PER_PHOTO, 46),
        ({"en": 1, "de": 1, "fr": 1, "cs": 1}, 6),
        ({"en": 5}, 0),
    ],
)
def test_pairs_per_image(per_photo: dict[str, int], pairs: int) -> None:
    source = data(7, per_photo)
    found = caption_pairs(source.photo, source.languages)
    assert len(found) == 7 * pairs
    assert (source.photo[found[:, 0]] == source.photo[found[:, 1]]).all()
    codes = np.array(source.languages)
    assert (codes[found[:, 0]] != codes[found[:, 1]]).all()


@pytest.mark.parametrize(
    "settings",
    [
        ["sampling.kind=union"],
        ["sampling.kind=languages", "sampling.c2c=0.5"],
        ["sampling.kind=languages", "compat.reshuffle_all=true"],
        ["sampling.kind=joint", "sampling.c2c_weight=1"],
    ],
)
def test_the_same_updates_from_any_start(settings: list[str]) -> None:
    whole = list(islice(feed(data(), *settings).steps(0), 120))
    for start in (1, 37, 90):
        rest = list(islice(feed(data(), *settings).steps(start), 120 - start))
        assert all(same(a, b) for a, b in zip(whole[start:], rest, strict=True))


def test_union_visits_every_caption_once_an_epoch() -> None:
    source = data()
    union = feed(source)
    terms = [step[0] for step in islice(union.steps(0), union.updates_per_epoch)]
    rows = np.concatenate([term.captions for term in terms])
    assert sorted(rows.tolist()) == list(range(len(source)))


def test_languages_are_drawn_alike_and_c2c_half_the_time() -> None:
    source = data()
    steps = islice(feed(source, "sampling.kind=languages", "sampling.c2c=0.5").steps(0), 4000)
    drawn: Counter[str] = Counter()
    for (term,) in steps:
        codes = {source.languages[row] for row in term.captions}
        if term.others is None:
            assert len(codes) == 1
            drawn[codes.pop()] += 1
        else:
            assert (source.photo[term.captions] == source.photo[term.others]).all()
            drawn["c2c"] += 1
    assert drawn["c2c"] == pytest.approx(2000, abs=130)
    for code in PER_PHOTO:
        assert drawn[code] == pytest.approx(500, abs=90)


def test_each_language_reshuffles_when_it_is_exhausted() -> None:
    source = data(20)
    seen: dict[str, list[int]] = {code: [] for code in PER_PHOTO}
    for (term,) in islice(feed(source, "sampling.kind=languages").steps(0), 200):
        seen[source.languages[term.captions[0]]] += term.captions.tolist()
    for rows in seen.values():
        size = len(set(rows))
        passes = [rows[i : i + size] for i in range(0, len(rows) - size + 1, size)]
        assert len(passes) > 1
        assert all(sorted(one) == sorted(passes[0]) for one in passes)
        assert passes[0] != passes[1]


def test_compat_restarts_all_languages_at_once() -> None:
    source = data(20)
    settings = ["sampling.kind=languages", "compat.reshuffle_all=true"]
    seen: set[int] = set()
    for (term,) in islice(feed(source, *settings).steps(0), 400):
        seen |= set(term.captions.tolist())
    one_pass = []
    for (term,) in islice(feed(source, *settings).steps(0), 6):
        one_pass += term.captions.tolist()
    # fr and cs end after 2 batches, so en and de never get through their 10 in one pass.
    english = [row for row in one_pass if source.languages[row] == "en"]
    assert len(english) < 100
    assert len(seen) == len(source)


def test_joint_updates_take_one_caption_of_each_language_for_the_same_photographs() -> None:
    source = data()
    joint = feed(source, "sampling.kind=joint", "sampling.c2c_weight=0.5")
    for step in islice(joint.steps(0), 6):
        grounded, pairs = step[:4], step[4:]
        photos = source.photo[grounded[0].captions].tolist()
        assert len(set(photos)) == len(photos)
        assert all(source.photo[term.captions].tolist() == photos for term in step)
        assert [source.languages[term.captions[0]] for term in grounded] == sorted(PER_PHOTO)
        assert len(pairs) == 6
        assert {term.weight for term in pairs} == {0.5}


def test_text_only_tuples_serve_c2c_alone() -> None:
    source = data(10, text_only=10)
    drawn = islice(
        feed(
            source, "sampling.kind=languages", "sampling.c2c=0.5", "sampling.text_only=true"
        ).steps(0),
        600,
    )
    kinds = {True: set(), False: set()}
    for (term,) in drawn:
        kinds[term.others is None] |= set((source.photo[term.captions] >= 10).tolist())
    assert kinds == {True: {False}, False: {False, True}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["sampling.c2c=0.5"], "sampling of kind union has no field 'c2c' .languages has"),
        (["text.towers=per-language"], "needs batches of one language"),
        (["sampling.kind=languages", "sampling.text_only=true"], "above 0"),
        (["training.batch_size=1000", "training.drop_last=true"], "do not fill one batch"),
    ],
)
def test_impossible_tasks_are_told(settings: list[str], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        feed(data(), *settings)


def test_c2c_needs_two_languages() -> None:
    with pytest.raises(PolyglanceError, match="two of the languages"):
        feed(data(5, {"en": 5}), "sampling.kind=languages", "sampling.c2c=0.5")
