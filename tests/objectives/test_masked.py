"""Masked cross-language modelling, against a loop over pairs."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.models.networks.similarity import l2
from polyglance.objectives import PairPredictor, hide_words


def by_loops(predictor: PairPredictor, whole, masked, has) -> float:
    total = 0.0
    for i, j in combinations(range(len(whole)), 2):
        errors = []
        for b in range(whole.shape[1]):
            for c in range(whole.shape[2]):
                if has[i, b] and has[j, b]:
                    joined = torch.cat([masked[i, b, c], masked[j, b, c]])
                    first, second = predictor(joined).chunk(2)
                    errors.append(
                        (l2(masked[i, b, c] + first) - l2(whole[i, b, c])).norm()
                        + (l2(masked[j, b, c] + second) - l2(whole[j, b, c])).norm()
                    )
        total += float(sum(errors) / len(errors)) if errors else 0.0
    return total


@given(st.integers(0, 1000), st.integers(2, 5))
def test_a_mean_is_over_the_pairs_that_any_image_has(seed: int, languages: int) -> None:
    torch.manual_seed(seed)
    whole, masked = l2(torch.randn(2, languages, 3, 2, 4)).unbind()
    has = torch.rand(languages, 3) < 0.5
    predictor = PairPredictor(4)
    there = [(has[i] & has[j]).any() for i, j in combinations(range(languages), 2)]
    with torch.no_grad():
        expected = by_loops(predictor, whole, masked, has) / max(1, sum(map(int, there)))
        found = predictor.loss(whole, masked, has, reduction="mean")
    assert float(found) == pytest.approx(expected, abs=2e-3)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_equals_a_loop_over_pairs(seed: int, languages: int, photos: int, captions: int) -> None:
    torch.manual_seed(seed)
    whole, masked = torch.randn(2, languages, photos, captions, 3).unbind()
    has = torch.rand(languages, photos) < 0.7
    predictor = PairPredictor(3)
    found = predictor.loss(l2(whole), l2(masked), has)
    with torch.no_grad():
        expected = by_loops(predictor, l2(whole), l2(masked), has)
    assert float(found.detach()) == pytest.approx(expected, abs=2e-3)


def test_detached_captions_get_no_gradient_and_perfect_ones_no_nan() -> None:
    torch.manual_seed(0)
    whole = l2(torch.randn(2, 3, 1, 4)).requires_grad_()
    predictor = PairPredictor(4)
    torch.nn.init.zeros_(predictor.weight)
    torch.nn.init.zeros_(predictor.bias)
    has = torch.ones(2, 3, dtype=torch.bool)
    loss = predictor.loss(whole, whole.detach(), has, detach=True)
    loss.backward()
    assert whole.grad is None
    assert predictor.weight.grad is not None
    assert torch.isfinite(predictor.weight.grad).all()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-3)
    predictor.loss(whole, whole.detach().flip(0), has).backward()
    assert whole.grad is not None


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.floats(0.01, 0.99))
def test_a_word_always_stays_and_padding_is_never_masked(lengths: list[int], share: float) -> None:
    sizes = np.array(lengths)
    hidden = hide_words(sizes, 12, share, np.random.default_rng(0))
    assert (hidden.sum(1) < sizes).all()
    assert not hidden[np.arange(12) >= sizes[:, None]].any()


def test_the_share_of_masked_words() -> None:
    hidden = hide_words(np.full(2000, 20), 20, 0.2, np.random.default_rng(0))
    assert hidden.mean() == pytest.approx(0.2, abs=0.01)


def test_the_error_of_a_perfect_prediction_is_one_in_ten_thousand() -> None:
    """√(0 + 1e-8), for a gradient that is finite: of both captions of three pairs."""
    whole = torch.eye(3, dtype=torch.double).view(3, 1, 1, 3)
    predictor = PairPredictor(3).double()
    torch.nn.init.zeros_(predictor.weight)
    torch.nn.init.zeros_(predictor.bias)
    loss = predictor.loss(whole, whole, torch.ones(3, 1, dtype=torch.bool))
    assert float(loss.detach()) == pytest.approx(6e-4, rel=1e-6)


def test_a_word_is_masked_if_its_draw_is_below_the_share() -> None:
    draws = np.random.default_rng(5).random((1, 6))[0]
    for share in (*draws, 0.5):
        hidden = hide_words(np.array([6]), 6, share, np.random.default_rng(5))[0]
        expected = draws < share
        expected[draws.argmax()] = False
        assert hidden.tolist() == expected.tolist()
