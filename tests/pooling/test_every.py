"""What holds for every pooling there is: a new one is covered as soon as it is registered."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.pooling import Pooling, build_pooling, pooling_names, poolings
from tests.pooling.references import REFERENCES, SETS

DIM = 8
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
quick = settings(deadline=None, max_examples=6)


def lively(name: str, seed: int = 0) -> Pooling:
    """A pooling whose weights are all drawn, those that start at zero, too."""
    torch.manual_seed(seed)
    pool = build_pooling(name, DIM).double()
    for parameter in pool.parameters():
        if parameter.dim() and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.3)
    return pool


def draw(lengths: list[int], seed: int = 0, width: int | None = None) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = (len(lengths), width or max(lengths), DIM)
    return torch.randn(size, generator=generator, dtype=torch.float64)


def test_names() -> None:
    assert pooling_names() == sorted(REFERENCES)
    assert set(poolings.list()) < set(pooling_names())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("meen", "did you mean 'mean'"),
        ("gpo-fetures", "did you mean 'gpo-features'"),
        ("kmaks5", "did you mean 'kmax5'"),
        ("kmax", "did you mean"),
        ("kmax0", "must be 1 or more"),
        ("kmax-2", "must be 1 or more"),
        ("kmax" + "9" * 5000, "unknown pooling"),
        ("?", "one of: attention, "),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        build_pooling(name, DIM)


@pytest.mark.parametrize("name", pooling_names())
@quick
@given(lengths=LENGTHS, seed=st.integers(0, 99))
def test_equals_its_definition(name: str, lengths: list[int], seed: int) -> None:
    pool, vectors = lively(name, seed).eval(), draw(lengths, seed)
    pooled = pool(vectors, torch.tensor(lengths))
    for row, length in enumerate(lengths):
        expected = REFERENCES[name](pool, vectors[row, :length])
        torch.testing.assert_close(pooled[row], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", pooling_names())
@pytest.mark.parametrize("training", [False, True])
@quick
@given(lengths=LENGTHS, extra=st.integers(0, 3), seed=st.integers(0, 99))
def test_padding_never_counts_and_gradients_are_finite(
    name: str, training: bool, lengths: list[int], extra: int, seed: int
) -> None:
    pool = lively(name, seed).train(training)
    twin = copy.deepcopy(pool)
    sizes = torch.tensor(lengths)
    clean = draw(lengths, seed, max(lengths) + extra)
    padding = torch.arange(clean.shape[1]) >= sizes.unsqueeze(1)
    clean[padding] = 0
    dirty = clean.clone()
    dirty[padding] = torch.nan
    clean.requires_grad_()
    dirty.requires_grad_()
    tight = clean[:, : max(lengths)]
    one, other = pool(tight, sizes), twin(dirty, sizes)
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    for pooled in (one, other):
        pooled.square().sum().backward()
    torch.testing.assert_close(clean.grad, dirty.grad, rtol=1e-6, atol=1e-9)
    assert not dirty.grad[padding].any()
    for (key, parameter), same in zip(pool.named_parameters(), twin.parameters(), strict=True):
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        torch.testing.assert_close(parameter.grad, same.grad, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", SETS)
@quick
@given(length=st.integers(1, 12), seed=st.integers(0, 99))
def test_sets_have_no_order(name: str, length: int, seed: int) -> None:
    pool, vectors = lively(name, seed).eval(), draw([length], seed)
    order = torch.randperm(length, generator=torch.Generator().manual_seed(seed))
    sizes = torch.tensor([length])
    torch.testing.assert_close(
        pool(vectors, sizes), pool(vectors[:, order], sizes), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("name", pooling_names())
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [False, True])
def test_half_precision(name: str, dtype: torch.dtype, training: bool) -> None:
    pool = lively(name).float().train(training)
    lengths = [9, 1, 4, 9]
    # Large values: their sums, and −10000 / 0.1, leave float16. Reasoning cubes them.
    scale = 1 if name.startswith("gcn") else 2000
    vectors = (scale * (draw(lengths) + 4)).to(dtype)
    sizes = torch.tensor(lengths)
    pooled, expected = pool(vectors, sizes), pool(vectors.float(), sizes)
    assert pooled.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    big = expected.abs() > torch.finfo(dtype).max
    torch.testing.assert_close(pooled.float()[~big], expected[~big], rtol=tolerance, atol=tolerance)
    assert name == "fspool" or not big.any()


@pytest.mark.parametrize("name", pooling_names())
def test_a_result_does_not_depend_on_the_batch(name: str) -> None:
    pool, lengths = lively(name).eval(), [7, 3, 3, 1, 6]
    vectors, sizes = draw(lengths), torch.tensor(lengths)
    with torch.inference_mode():
        together = pool(vectors, sizes)
        alone = torch.cat([pool(vectors[i : i + 1], sizes[i : i + 1]) for i in range(5)])
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-8)
