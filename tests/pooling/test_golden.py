"""Poolings by hand: bounds, sizes and what they are before training."""

import math

import pytest
import torch
from torch import nn

from polyglance.numerics.precision import to_float32
from polyglance.pooling import GeMPool, KMaxPool, Pooling, build_pooling, poolings
from polyglance.pooling.ranks import interpolation
from polyglance.pooling.sequence import AttentionPool, ReasoningPool


def gem(values: list[float], power: float) -> float:
    pool = GeMPool(1).double()
    with torch.no_grad():
        pool.power.fill_(power)
        vectors = torch.tensor(values, dtype=torch.double).view(1, -1, 1)
        return float(pool(vectors, torch.tensor([len(values)])))


def test_a_generalised_mean_starts_with_the_third_power() -> None:
    vectors = torch.tensor([[[1.0], [2.0], [3.0]]])
    found = GeMPool(1)(vectors, torch.tensor([3]))
    assert float(found.detach()) == pytest.approx(12 ** (1 / 3))
    assert float(GeMPool(1)(vectors, torch.tensor([2])).detach()) == pytest.approx(4.5 ** (1 / 3))


@pytest.mark.parametrize(
    ("values", "power", "golden"),
    [
        ([1, 3], 1.0, 2),
        ([1, 3], 2.0, math.sqrt(5)),
        # Nothing is below a millionth.
        ([0, 0], 3.0, 1e-6),
        ([-5, -7], 3.0, 1e-6),
        ([-5, 2], 1.0, (1e-6 + 2) / 2),
        ([5e-7, 5e-7], 1.0, 1e-6),
        ([1.5e-6, 1.5e-6], 1.0, 1.5e-6),
        # No power is below a hundredth.
        ([1, 4], 0.01, ((1 + 4**0.01) / 2) ** 100),
        ([1, 4], 0.001, ((1 + 4**0.01) / 2) ** 100),
        ([1, 4], -3.0, ((1 + 4**0.01) / 2) ** 100),
        ([1, 4], 0.5, 2.25),
    ],
)
def test_generalised_means(values: list[float], power: float, golden: float) -> None:
    assert gem(values, power) == pytest.approx(golden, rel=1e-9)


def test_a_power_in_single_precision_is_bounded_in_that_of_the_vectors() -> None:
    pool = GeMPool(1)
    with torch.no_grad():
        pool.power.fill_(0.001)
        vectors = torch.tensor([[[1e-6], [1e30]]], dtype=torch.double)
        found = float(pool(vectors, torch.tensor([2])))
    assert found == pytest.approx(((1e-6**0.01 + 1e30**0.01) / 2) ** 100, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpo", 12_704),
        ("gpo-interpolation", 20),
        ("gpo-per-dimension", 12_672 + 32 * 48),
        # A BiGRU whose inputs are twice as wide, 2 · 96 · 32 weights more, and the projection.
        ("gpo-features", 12_704 + 2 * 96 * 32 + 32 * 48 + 32),
        ("gpo-index", 12_704 + 256 * 32),
        ("gpo-mlp", 32 * 32 + 32 + 32),
        # Attention, a hidden layer of 64, two norms, the score.
        ("gpo-transformer", 4 * (32 * 32 + 32) + (32 * 64 + 64) + (64 * 32 + 32) + 4 * 32 + 32),
        ("fspool", 21 * 48),
        ("gem", 1),
        ("attention", 4 * (48 * 48 + 48) + 2 * (48 * 48 + 48) + 4 * 48),
        ("seq2seq", 6 * 48 * 48 + 6 * 48),
        ("gcn-mean", 4 * (4 * (48 * 48 + 48) + 2 * 48)),
    ],
)
def test_parameters(name: str, count: int) -> None:
    assert sum(p.numel() for p in build_pooling(name, 48).parameters()) == count


@pytest.mark.parametrize(
    ("dim", "heads"), [(1024, 8), (8, 8), (12, 4), (4, 4), (6, 2), (2, 2), (7, 1), (1, 1)]
)
def test_attention_has_up_to_eight_heads(dim: int, heads: int) -> None:
    pool = build_pooling("attention", dim)
    assert isinstance(pool, AttentionPool)
    assert pool.layer.self_attn.num_heads == heads
    assert {part.p for part in pool.modules() if isinstance(part, nn.Dropout)} == {0}


@pytest.mark.parametrize("training", [False, True])
def test_reasoning_changes_nothing_at_first(training: bool) -> None:
    """Its last norm is 0, so that vectors are scaled to length 1 and averaged."""
    torch.manual_seed(0)
    pool = build_pooling("gcn-mean", 4).train(training)
    vectors = torch.randn(2, 3, 4)
    units = vectors / vectors.norm(dim=2, keepdim=True)
    expected = torch.stack([units[0].mean(0), units[1, :2].mean(0)])
    torch.testing.assert_close(pool(vectors, torch.tensor([3, 2])), expected)


def test_reasoning_leaves_tiny_vectors_short() -> None:
    """Lengths below 1e-8 count as 1e-8."""
    pool = build_pooling("gcn-mean", 2).double()
    vectors = torch.tensor([[[3e-9, 4e-9]], [[0.0, 0.0]], [[3e-8, 4e-8]]], dtype=torch.double)
    found = pool(vectors, torch.tensor([1, 1, 1]))
    expected = torch.tensor([[0.3, 0.4], [0.0, 0.0], [0.6, 0.8]], dtype=torch.double)
    torch.testing.assert_close(found, expected)


def test_one_vector_has_no_variance_to_train_on() -> None:
    pool = build_pooling("gcn-mean", 2).train()
    assert isinstance(pool, ReasoningPool)
    nn.init.ones_(pool.layers[0].norm.weight)
    before = pool.layers[0].norm.running_mean.clone()
    found = pool(torch.tensor([[[3.0, 4.0]]]), torch.tensor([1]))
    pool.eval()
    torch.testing.assert_close(found, pool(torch.tensor([[[3.0, 4.0]]]), torch.tensor([1])))
    assert torch.equal(pool.layers[0].norm.running_mean, before)


def test_two_vectors_train_the_norm() -> None:
    pool = build_pooling("gcn-mean", 2).train()
    assert isinstance(pool, ReasoningPool)
    before = pool.layers[0].norm.running_mean.clone()
    pool(torch.tensor([[[3.0, 4.0], [1.0, 2.0]]]), torch.tensor([2]))
    assert not torch.equal(pool.layers[0].norm.running_mean, before)


@pytest.mark.parametrize(
    ("k", "golden"), [(1, [9, 4]), (2, [7.5, 3]), (3, [16 / 3, 3]), (4, [4, 3]), (9, [4, 3])]
)
def test_the_largest_of_every_set(k: int, golden: list[float]) -> None:
    vectors = torch.tensor([[[1.0], [9.0], [6.0], [0.0]], [[2.0], [4.0], [77.0], [88.0]]])
    pool = build_pooling(f"kmax{k}", 1)
    assert isinstance(pool, KMaxPool)
    assert pool(vectors, torch.tensor([4, 2]))[:, 0].tolist() == pytest.approx(golden)


def test_interpolation_of_knots_to_ranks() -> None:
    """Rank k of n stands at k / (n − 1) of the way from the first knot to the last."""
    found = interpolation(torch.tensor([1, 5, 2]), 3, torch.zeros((), dtype=torch.double))
    assert found.dtype == torch.double
    nothing = [0.0, 0, 0]
    first, middle, last = [1.0, 0, 0], [0.0, 1, 0], [0.0, 0, 1]
    assert found[0].tolist() == [first, *[nothing] * 4]
    assert found[1].tolist() == [first, [0.5, 0.5, 0], middle, [0, 0.5, 0.5], last]
    assert found[2].tolist() == [first, last, *[nothing] * 3]


@pytest.mark.parametrize("name", ["fspool", "gpo-interpolation"])
def test_ranks_past_a_length_have_no_coefficient(name: str) -> None:
    """Also where there are more ranks than knots, so that the next one is near the last knot."""
    theta = build_pooling(name, 2).coefficients(torch.tensor([1, 30, 60]))
    assert not theta[0, 1:].any()
    assert not theta[1, 30:].any()
    assert theta[1, 29].all()
    assert theta[2].all()


def test_a_pooling_without_forward_is_an_error() -> None:
    with pytest.raises(TypeError, match="defines forward"):
        Pooling(3)(torch.zeros(1, 1, 3), torch.tensor([1]))


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="pooling 'mean' is registered twice"):
        poolings.register("mean")(Pooling)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_wide(given: torch.dtype, used: torch.dtype) -> None:
    assert to_float32(torch.ones(2, dtype=given)).dtype == used
