"""GPO: golden values, gradients, the cache, what its variants share."""

import copy

import pytest
import torch
from torch import nn

from polyglance.pooling import GPO, build_pooling, pooling_names
from polyglance.pooling.generators import POSITIONS, position_code
from polyglance.pooling.gpo import masked_softmax
from tests.pooling.references import gpo

GPOS = [name for name in pooling_names() if isinstance(build_pooling(name, 4), GPO)]


class Fixed(nn.Module):
    """Scores that are the same for every size."""

    def __init__(self, scores: list[float]) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.tensor(scores))

    def forward(self, lengths: torch.Tensor) -> torch.Tensor:
        return self.values[: int(lengths.max())].expand(len(lengths), -1)


@pytest.mark.parametrize(
    ("name", "count"),
    [("gpo", 12_704), ("gpo-interpolation", 20), ("gpo-per-dimension", 12_672 + 32 * 1024)],
)
def test_parameters(name: str, count: int) -> None:
    assert sum(p.numel() for p in build_pooling(name, 1024).parameters()) == count


def test_position_code() -> None:
    code = position_code(3)
    assert code.shape == (3, 32)
    assert code[0].tolist() == [0, 1] * 16
    expected = torch.tensor([0.841471, 0.540302, 0.533168, 0.846009])
    torch.testing.assert_close(code[1, :4].float(), expected, rtol=0, atol=1e-6)


def test_equal_scores_are_the_mean_and_mass_at_rank_0_the_maximum() -> None:
    vectors, lengths = torch.randn(3, 6, 5), torch.tensor([6, 2, 4])
    for scores, name in ([0.7] * 6, "mean"), ([40.0, 0, 0, 0, 0, 0], "max"):
        pooled = GPO(5, Fixed(scores))(vectors, lengths)
        torch.testing.assert_close(pooled, build_pooling(name, 5)(vectors, lengths))


def test_softmax_of_half_precision_scores() -> None:
    scores = torch.tensor([[9000.0, 9000.0, 60000.0]], dtype=torch.float16)
    assert masked_softmax(scores, torch.tensor([2])).tolist() == [[0.5, 0.5, 0.0]]


def test_gradients_equal_those_of_single_samples() -> None:
    torch.manual_seed(0)
    pool = build_pooling("gpo", 6).double()
    lengths = [5, 1, 9, 5, 3]
    vectors = torch.randn(5, 9, 6, dtype=torch.float64)
    directions = torch.randn(5, 6, dtype=torch.float64)
    inputs = [*pool.parameters(), vectors.requires_grad_()]
    pooled = pool(vectors, torch.tensor(lengths))
    fast = torch.autograd.grad((pooled * directions).sum(), inputs)
    single = torch.stack([gpo(pool, v[:n]) for v, n in zip(vectors, lengths, strict=True)])
    slow = torch.autograd.grad((single * directions).sum(), inputs)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", GPOS)
def test_coefficients(name: str) -> None:
    pool = build_pooling(name, 4)
    theta = pool.coefficients(torch.tensor([3, 7, 3, 1]))
    assert theta.shape[:2] == (4, 7)
    assert torch.equal(theta[0], theta[2])
    assert not theta[0, 3:].any()
    torch.testing.assert_close(theta.sum(1), torch.ones_like(theta.sum(1)))


@pytest.mark.parametrize("name", GPOS)
def test_kept_coefficients_equal_fresh_ones(name: str) -> None:
    pool = build_pooling(name, 4)
    for parameter in pool.parameters():
        nn.init.normal_(parameter, std=0.3)
    sizes = [torch.tensor(sizes) for sizes in ([4, 9], [9, 2, 4], [300, 1], [4, 9])]
    fresh = [pool.coefficients(lengths) for lengths in sizes]
    pool.eval()
    with torch.inference_mode():
        kept = [pool.coefficients(lengths) for lengths in sizes]
    assert set(pool._kept) == {1, 2, 4, 9, 300}
    for one, other in zip(fresh, kept, strict=True):
        torch.testing.assert_close(one, other.clone(), rtol=1e-5, atol=1e-7)


def _step(pool: GPO) -> None:
    optimizer = torch.optim.AdamW(pool.parameters(), 0.1)
    pool.train()
    pool(torch.randn(2, 5, 4), torch.tensor([5, 3])).sum().backward()
    optimizer.step()
    pool.eval()


def _data(pool: GPO) -> None:
    for parameter in pool.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))


CHANGES = {
    "step": _step,
    "load": lambda pool: pool.load_state_dict(build_pooling("gpo", 4).state_dict()),
    "assign": lambda pool: pool.load_state_dict(build_pooling("gpo", 4).state_dict(), assign=True),
    "data": _data,
    "double": lambda pool: (_data(pool), pool.double()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_weights_are_noticed(change: str) -> None:
    torch.manual_seed(0)
    pool, lengths = build_pooling("gpo", 4).eval(), torch.tensor([5, 3])
    with torch.inference_mode():
        before = pool.coefficients(lengths).tolist()
    CHANGES[change](pool)
    with torch.no_grad():
        after = pool.coefficients(lengths)
    torch.testing.assert_close(after, pool.coefficients(lengths).detach())
    assert after.tolist() != before


def test_the_cache_stays_out_of_the_weights_and_can_be_copied() -> None:
    pool, lengths = build_pooling("gpo", 4).eval(), torch.tensor([5, 3])
    names = set(pool.state_dict())
    with torch.inference_mode():
        kept = pool.coefficients(lengths)
    assert set(pool.state_dict()) == names
    twin = copy.deepcopy(pool)
    with torch.inference_mode():
        assert torch.equal(twin.coefficients(lengths), kept)
    # What inference kept never meets autograd.
    pool(torch.randn(2, 5, 4), lengths).sum().backward()
    assert pool.generator.score.weight.grad.any()


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyglance.pooling.gpo.CACHED_NUMBERS", 20)
    pool = build_pooling("gpo", 4).eval()
    with torch.no_grad():
        for size in range(1, 40):
            pool.coefficients(torch.tensor([size]))
    assert sum(row.numel() for row in pool._kept.values()) <= 20 + 39


def test_index_embeddings_serve_larger_sets() -> None:
    pool = build_pooling("gpo-index", 4)
    codes = pool.generator.codes(POSITIONS + 2)
    assert torch.equal(codes[-1], codes[POSITIONS - 1])
    assert not torch.equal(codes[0], codes[1])


def test_autocast_leaves_coefficients_exact() -> None:
    pool, lengths = build_pooling("gpo", 4), torch.tensor([5, 3])
    plain = pool.coefficients(lengths)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(pool.coefficients(lengths), plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gpo-mlp", "gpo-interpolation"])
def test_a_trace_serves_other_vectors_and_lengths(name: str) -> None:
    torch.manual_seed(0)
    pool, sets = build_pooling(name, 3).eval(), torch.randn(2, 4, 5, 3)
    nn.init.normal_(next(pool.parameters()))
    lengths = torch.tensor([[5, 5, 5, 5], [1, 5, 3, 2]])
    traced = torch.jit.trace(pool, (sets[0], lengths[0]))
    torch.testing.assert_close(traced(sets[1], lengths[1]), pool(sets[1], lengths[1]))
