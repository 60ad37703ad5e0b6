"""GPO's coefficients: kept at inference, for how long, of which shape and type."""

import math

import pytest
import torch

from polyglance.pooling import GPO, build_pooling, pooling_names
from polyglance.pooling.generators import position_code
from polyglance.pooling.gpo import CACHED_NUMBERS

GPOS = [name for name in pooling_names() if name.startswith("gpo")]


@pytest.fixture
def pool() -> GPO:
    torch.manual_seed(0)
    made = build_pooling("gpo", 4).eval()
    assert isinstance(made, GPO)
    return made


def ask(pool: GPO, *sizes: int) -> torch.Tensor:
    with torch.no_grad():
        return pool.coefficients(torch.tensor(sizes))


def test_64_mebibytes_are_kept() -> None:
    assert 4 * CACHED_NUMBERS == 64 * 2**20


def test_forgotten_above_the_bound_and_not_at_it(
    pool: GPO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyglance.pooling.gpo.CACHED_NUMBERS", 6)
    ask(pool, 1, 2)
    ask(pool, 3)
    ask(pool, 4)  # There were 6 numbers before.
    assert set(pool._kept) == {1, 2, 3, 4}
    ask(pool, 2)
    assert set(pool._kept) == {2}


def test_every_size_is_generated_once(pool: GPO) -> None:
    asked: list[list[int]] = []
    pool.generator.register_forward_pre_hook(lambda _, given: asked.append(given[0].tolist()))
    ask(pool, 5, 3, 5)
    ask(pool, 3, 5)
    ask(pool, 5, 2)
    assert asked == [[3, 5], [2]]


def test_kept_rows_do_not_hold_the_padding_of_their_batch(pool: GPO) -> None:
    ask(pool, 2, 900)
    assert set(pool._kept) == {2, 900}
    for size, row in pool._kept.items():
        assert row.shape == (size,)
        assert row.untyped_storage().nbytes() == 4 * size


def test_nothing_is_kept_in_training_nor_with_gradients(pool: GPO) -> None:
    assert pool.coefficients(torch.tensor([3])).requires_grad
    assert not pool._kept
    pool.train()
    ask(pool, 3)
    assert not pool._kept
    pool.eval()
    ask(pool, 3)
    assert set(pool._kept) == {3}


def test_one_changed_weight_of_many_is_noticed(pool: GPO) -> None:
    before = ask(pool, 5)
    with torch.no_grad():
        next(pool.generator.parameters())[0, 0] += 1
    assert not torch.equal(ask(pool, 5), before)
    assert torch.equal(ask(pool, 5), pool.coefficients(torch.tensor([5])).detach())


def test_weights_of_another_type_are_other_weights(pool: GPO) -> None:
    single = ask(pool, 5)
    pool.double()
    double = ask(pool, 5)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    assert torch.equal(double, pool.coefficients(torch.tensor([5])).detach())


@pytest.mark.parametrize("name", GPOS)
def test_doubles_may_be_pooled_with_single_weights(name: str) -> None:
    torch.manual_seed(0)
    pool, lengths = build_pooling(name, 4), torch.tensor([5, 2])
    vectors = torch.randn(2, 5, 4, dtype=torch.double)
    found = pool(vectors, lengths)
    assert found.dtype == torch.double
    torch.testing.assert_close(found.float(), pool(vectors.float(), lengths), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in GPOS if name != "gpo-interpolation"])
def test_autocast_leaves_scores_in_full_precision(name: str) -> None:
    pool = build_pooling(name, 4)
    kinds: list[torch.dtype] = []
    pool.generator.score.register_forward_hook(lambda *given: kinds.append(given[2].dtype))
    with torch.autocast("cpu", torch.bfloat16):
        pool(torch.randn(2, 5, 4), torch.tensor([5, 2]))
    assert kinds == [torch.float32]


@pytest.mark.parametrize("name", sorted(set(GPOS) - {"gpo-features"}))
def test_every_rank_has_one_coefficient_unless_every_dimension_has_its_own(name: str) -> None:
    pool = build_pooling(name, 4)
    assert isinstance(pool, GPO)
    shape = pool.coefficients(torch.tensor([3, 7])).shape
    assert shape == ((2, 7, 4) if name == "gpo-per-dimension" else (2, 7))


def test_the_last_index_embedding_serves_all_ranks_from_its_own_on() -> None:
    generator = build_pooling("gpo-index", 4).generator
    codes, weight = generator.codes(258), generator.positions.weight
    assert torch.equal(codes[:256], weight)
    assert torch.equal(codes[256:], weight[[255, 255]])


def test_position_codes_of_large_ranks() -> None:
    code = position_code(300, 8)
    expected = [
        [f(k * 10000 ** (-j / 4)) for j in range(4) for f in (math.sin, math.cos)]
        for k in range(300)
    ]
    torch.testing.assert_close(code, torch.tensor(expected, dtype=torch.double), rtol=0, atol=1e-12)
