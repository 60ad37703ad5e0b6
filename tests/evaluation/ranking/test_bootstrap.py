import numpy as np
import pytest

from polyglance.evaluation.ranking.bootstrap import Outcome, bootstrap, headline, interval, paired
from polyglance.evaluation.ranking.ranks import Ranks

R1_T2I = 3


def outcome(text_ranks, per_image=1, folds=1, photo=None):
    """Images always found; captions at the given ranks."""
    text_ranks = np.asarray(text_ranks)
    count = len(text_ranks) // per_image
    photo = np.arange(count) if photo is None else photo
    ranks = Ranks(np.zeros(count, np.int64), text_ranks)
    return Outcome(ranks, np.arange(count).repeat(per_image), photo, folds)


def test_matches_the_binomial():
    hits = np.arange(400) < 120  # p = 0.3, sd = sqrt(.3 * .7 / 400)
    samples = bootstrap([outcome(np.where(hits, 0, 50))], 400, 4000, seed=1)[0, :, R1_T2I]
    assert samples.mean() == pytest.approx(30, abs=0.2)
    assert samples.std() == pytest.approx(100 * (0.3 * 0.7 / 400) ** 0.5, rel=0.05)
    low, high = interval(samples)
    assert low == pytest.approx(30 - 1.96 * 2.29, abs=0.4)
    assert high == pytest.approx(30 + 1.96 * 2.29, abs=0.4)


def test_interval_covers_the_truth():
    generator = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        hits = generator.random(200) < 0.4
        samples = bootstrap([outcome(np.where(hits, 0, 50))], 200, 300, seed)[0, :, R1_T2I]
        low, high = interval(samples)
        covered += low <= 40 <= high
    assert 0.89 <= covered / 200 <= 0.99


def test_captions_of_one_image_are_not_independent():
    """Five equal captions say no more than one: the interval is as wide."""
    hits = np.where(np.arange(200) < 60, 0, 50)
    one = bootstrap([outcome(hits)], 200, 500)[0]
    five = bootstrap([outcome(hits.repeat(5), per_image=5)], 200, 500)[0]
    assert five == pytest.approx(one, abs=1e-3)


def test_resamples_follow_the_photographs():
    """Weights belong to the photograph's number in the split, not to its row."""
    ranks = np.where(np.arange(50) % 3 == 0, 0, 50)
    shuffle = np.random.default_rng(0).permutation(50)
    straight, shuffled = outcome(ranks), outcome(ranks[shuffle], photo=shuffle)
    samples = bootstrap([straight, shuffled], 50, 200)
    assert samples[0] == pytest.approx(samples[1], abs=1e-3)


def test_seeded_and_within_blocks(monkeypatch):
    value = outcome(np.where(np.arange(30) < 9, 0, 50))
    whole = bootstrap([value], 30, 100, seed=3)
    assert np.array_equal(whole, bootstrap([value], 30, 100, seed=3))
    assert not np.array_equal(whole, bootstrap([value], 30, 100, seed=4))
    monkeypatch.setattr("polyglance.evaluation.ranking.bootstrap.DRAWS_AT_A_TIME", 70)
    assert np.array_equal(whole, bootstrap([value], 30, 100, seed=3))


def test_headline_is_the_metrics_and_sums_agree():
    value = outcome(np.array([0, 3, 7, 50]))
    six = [100, 100, 100, 25, 50, 75]
    assert headline(value.metrics()).tolist() == [*six, 450.0, 75.0]
    samples = bootstrap([value], 4, 50)[0]
    assert samples[:, 6] == pytest.approx(samples[:, :6].sum(axis=1))
    assert samples[:, 7] == pytest.approx(samples[:, 6] / 6)


def test_folds_are_averaged():
    """One fold always right, the other always wrong: half, in every resample."""
    value = outcome(np.where(np.arange(40) < 20, 0, 50), folds=2)
    assert bootstrap([value], 40, 100)[0, :, R1_T2I] == pytest.approx(np.full(100, 50.0))


def test_a_photograph_never_drawn_keeps_the_observed_value():
    value = outcome([0], photo=np.array([7]))
    assert bootstrap([value], 500, 50)[0, :, R1_T2I].tolist() == [100.0] * 50


def test_paired_identical_runs():
    value = outcome(np.where(np.arange(80) < 30, 0, 50))
    samples = bootstrap([value, value], 80, 300)[:, :, R1_T2I]
    test = paired(samples[0], samples[1], 0.0)
    assert (test.p, test.difference, test.low, test.high) == (1.0, 0.0, 0.0, 0.0)


def test_paired_different_runs():
    worse = outcome(np.where(np.arange(200) < 60, 0, 50))
    better = outcome(np.where(np.arange(200) < 90, 0, 50))
    samples = bootstrap([worse, better], 200, 999)[:, :, R1_T2I]
    test = paired(samples[0], samples[1], 15.0)
    assert test.p == pytest.approx(2 / 1000)
    assert 0 < test.low < 15 < test.high
    back = paired(samples[1], samples[0], -15.0)
    assert back.p == test.p
    assert back.low == pytest.approx(-test.high)


def test_pairing_sees_what_two_intervals_hide():
    """A small gain on the same photographs is certain though the intervals overlap."""
    first = np.where(np.arange(300) < 150, 0, 50)
    second = np.where(np.arange(300) < 162, 0, 50)
    samples = bootstrap([outcome(first), outcome(second)], 300, 999)[:, :, R1_T2I]
    assert interval(samples[0])[1] > interval(samples[1])[0]
    assert paired(samples[0], samples[1], 4.0).p < 0.01
