"""Poolings make their tensors where the vectors are, whatever the default device is."""

import pytest
import torch

from polyglance.pooling import Pooling, build_pooling, pooling_names
from polyglance.pooling.base import valid
from polyglance.pooling.gpo import masked_softmax

# A GRU plans its steps, and a position code is made, on the default device.
PLANNED = {"seq2seq", "gcn-seq2seq", *(name for name in pooling_names() if "gpo" in name)}
POOLINGS = ["gpo-interpolation", *sorted(set(pooling_names()) - PLANNED)]
SIZES = [5, 2, 7]


def pooled(pool: Pooling, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a pooling gives without a gradient, and with one: the two sort in different ways."""
    lengths = torch.tensor(SIZES, device="cpu")
    with torch.no_grad():
        plain = pool(vectors, lengths)
    leaf = vectors.clone().requires_grad_()
    result = pool(leaf, lengths)
    result.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.device.type == "cpu"
    return plain, result.detach()


@pytest.mark.parametrize("name", POOLINGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_poolings(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    pool = build_pooling(name, 6).to(dtype).eval()
    vectors = torch.randn(3, 7, 6, dtype=dtype)
    expected = pooled(pool, vectors)
    with torch.device("meta"):
        found = pooled(pool, vectors)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_masks_and_coefficients() -> None:
    vectors, lengths = torch.randn(3, 7, 6), torch.tensor(SIZES)
    mask, weights = valid(vectors, lengths), masked_softmax(vectors[..., 0], lengths)
    with torch.device("meta"):
        assert torch.equal(valid(vectors, lengths), mask)
        assert torch.equal(masked_softmax(vectors[..., 0], lengths), weights)


def test_index_embeddings() -> None:
    pool = build_pooling("gpo-index", 6)
    expected = pool.generator.codes(7)
    with torch.device("meta"):
        assert torch.equal(pool.generator.codes(7), expected)


def test_lengths_follow_the_scores() -> None:
    found = masked_softmax(torch.zeros(3, 7, device="meta"), torch.tensor(SIZES))
    assert found.device.type == "meta"
