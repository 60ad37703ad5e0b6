"""The fast sort against torch's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.pooling import sorting
from polyglance.pooling.sorting import descending

NUMBERS = st.floats(-(2.0**120), 2.0**120, width=32) | st.sampled_from([0.0, -0.0, 1.0, -1.0])


def sort_ranks(vectors: torch.Tensor) -> torch.Tensor:
    return descending(vectors, torch.full((len(vectors),), vectors.shape[1]))


@settings(deadline=None, max_examples=40)
@given(st.data(), st.integers(1, 4), st.integers(1, 7), st.integers(1, 3))
def test_values_and_gradients(data, batch, width, dim) -> None:
    count = batch * width * dim
    numbers = data.draw(st.lists(NUMBERS, min_size=count, max_size=count))
    vectors = torch.tensor(numbers).view(batch, width, dim)
    expected, places = vectors.transpose(1, 2).sort(dim=2, descending=True, stable=True)
    assert torch.equal(sort_ranks(vectors), expected)
    leaf = vectors.clone().requires_grad_()
    ranked = sort_ranks(leaf)
    assert torch.equal(ranked.detach(), expected)
    weights = torch.arange(1.0, width + 1).expand_as(ranked)
    ranked.backward(weights)
    # Equal values may share their gradients either way: their sums are what is determined.
    slow = torch.zeros(batch, dim, width).scatter(2, places, weights).transpose(1, 2)
    for value in vectors.unique():
        same = vectors == value
        assert (leaf.grad * same).sum(1).equal((slow * same).sum(1))


@pytest.mark.parametrize("width", [200, 300])
@pytest.mark.parametrize("block", [1, 4096, 2**18])
def test_wide_sets_in_blocks(width: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "BLOCK", block)
    vectors = torch.randn(5, width, 3)
    fast, slow = vectors.clone().requires_grad_(), vectors.clone().requires_grad_()
    direction = torch.randn(5, 3, width)
    (sort_ranks(fast) * direction).sum().backward()
    (slow.transpose(1, 2).sort(2, descending=True).values * direction).sum().backward()
    assert torch.equal(fast.grad, slow.grad)
    assert torch.equal(sort_ranks(vectors), vectors.transpose(1, 2).sort(2, True).values)


def test_the_input_is_left_alone() -> None:
    vectors = torch.randn(2, 5, 3)
    kept = vectors.clone()
    sort_ranks(vectors)
    descending(vectors, torch.tensor([5, 2]))
    assert torch.equal(vectors, kept)


def test_past_the_lengths_are_zeros() -> None:
    vectors = torch.full((2, 5, 3), -2.0)
    ranked = descending(vectors, torch.tensor([4, 1]))
    assert ranked.shape == (2, 3, 4)
    assert ranked[1, 0].tolist() == [-2, 0, 0, 0]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 99))
def test_fast_and_plain_agree(lengths: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(len(lengths), 9, 3, generator=generator)
    vectors[torch.arange(9) >= torch.tensor(lengths).unsqueeze(1)] = torch.nan
    direction = torch.randn(len(lengths), 3, max(lengths), generator=generator)
    results = []
    for dtype in (torch.float32, torch.float64):
        leaf = vectors.to(dtype, copy=True).requires_grad_()
        ranked = descending(leaf, torch.tensor(lengths))
        ranked.backward(direction.to(dtype))
        with torch.no_grad():
            assert torch.equal(descending(leaf, torch.tensor(lengths)), ranked)
        results.append((ranked.detach().float(), leaf.grad.float()))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
