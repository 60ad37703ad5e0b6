"""Batches of one language, against the scheme of the paper's Figure 2."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.training.inputs.data import TrainingData
from tests.training.samplers.planted import PER_IMAGE, data, sampler

KIND = "sampling.kind=languages"


def rows_by_language(
    source: TrainingData, updates: int, *settings: str
) -> dict[str, list[list[int]]]:
    """The batches of each language, in the order in which they came."""
    seen: dict[str, list[list[int]]] = {code: [] for code in PER_IMAGE}
    for (term,) in islice(sampler(source, KIND, *settings).batches(0), updates):
        (code,) = {source.languages[row] for row in term.captions}
        seen[code].append(term.captions.tolist())
    return seen


def test_languages_are_drawn_alike_and_c2c_half_the_time() -> None:
    source = data()
    drawn: Counter[str] = Counter()
    for (term,) in islice(sampler(source, KIND, "sampling.c2c=0.5").batches(0), 4000):
        codes = {source.languages[row] for row in term.captions}
        if term.others is None:
            assert len(codes) == 1
            drawn[codes.pop()] += 1
        else:
            assert (source.image[term.captions] == source.image[term.others]).all()
            drawn["c2c"] += 1
    assert drawn["c2c"] == pytest.approx(2000, abs=130)
    for code in PER_IMAGE:
        assert drawn[code] == pytest.approx(500, abs=90)


def test_an_epoch_is_as_many_updates_as_all_captions_fill() -> None:
    assert sampler(data(20), KIND).updates_per_epoch == 10 + 10 + 2 + 2
    assert sampler(data(20, text_only=9), KIND, "sampling.c2c=0.5").updates_per_epoch == 24


def test_each_language_reshuffles_when_it_is_exhausted() -> None:
    source = data(20)
    for code, batches in rows_by_language(source, 200).items():
        size = 20 * PER_IMAGE[code]
        rows = [row for batch in batches for row in batch]
        passes = [rows[i : i + size] for i in range(0, len(rows) - size + 1, size)]
        assert len(passes) > 1
        own = [row for row, language in enumerate(source.languages) if language == code]
        assert all(sorted(one) == own for one in passes)
        assert passes[0] != passes[1]


def test_compat_restarts_all_languages_at_once() -> None:
    source, settings = data(20), "compat.reshuffle_all=true"
    # fr and cs end after 2 batches, so en and de never get through their 10 in one pass.
    assert len(rows_by_language(source, 6, settings)["en"]) < 10
    seen = {row for batches in rows_by_language(source, 400, settings).values()
            for batch in batches for row in batch}  # fmt: skip
    assert len(seen) == len(source)
    # Between two ends of a pass no caption comes twice; at an end all begin again.
    left = {"en": 10, "de": 10, "fr": 2, "cs": 2}
    place, current = dict(left), {code: set[int]() for code in left}
    for (term,) in islice(sampler(source, KIND, settings).batches(0), 300):
        code = source.languages[term.captions[0]]
        rows = set(term.captions.tolist())
        assert not rows & current[code]
        current[code] |= rows
        place[code] -= 1
        if not place[code]:
            place, current = dict(left), {code: set[int]() for code in left}


def test_text_only_tuples_serve_c2c_alone() -> None:
    source = data(10, text_only=10)
    settings = (KIND, "sampling.c2c=0.5", "sampling.text_only=true")
    beyond: dict[bool, set[bool]] = {True: set(), False: set()}
    for (term,) in islice(sampler(source, *settings).batches(0), 600):
        beyond[term.others is None] |= set((source.image[term.captions] >= 10).tolist())
    assert beyond == {True: {False}, False: {False, True}}


def test_pairs_of_separate_towers_are_of_one_pair_of_languages() -> None:
    source = data()
    codes = np.array(source.languages)
    settings = (KIND, "sampling.c2c=1", "text.towers=per-language")
    drawn: Counter[tuple[str, str]] = Counter()
    for (term,) in islice(sampler(source, *settings).batches(0), 1200):
        (first,), (second,) = set(codes[term.captions]), set(codes[term.others])
        drawn[str(first), str(second)] += 1
    assert len(drawn) == 6
    assert all(a < b for a, b in drawn)
    assert min(drawn.values()) > 120


def test_c2c_needs_two_languages() -> None:
    with pytest.raises(PolyglanceError, match="two of the languages"):
        sampler(data(5, {"en": 5}), KIND, "sampling.c2c=0.5")
