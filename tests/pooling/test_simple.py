"""Poolings against loops over the valid vectors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.pooling import build_pooling, poolings

REFERENCE = {
    "mean": lambda v: v.mean(0),
    "max": lambda v: v.max(0).values,
    "last": lambda v: v[-1],
    "first": lambda v: v[0],
}


@given(
    st.sampled_from(sorted(REFERENCE)),
    st.lists(st.integers(1, 6), min_size=1, max_size=5),
    st.integers(0, 99),
)
def test_padding_never_counts(name: str, lengths: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(len(lengths), max(lengths), 4, generator=generator) - 3
    pooled = build_pooling(name, 4)(vectors, torch.tensor(lengths))
    for row, length in enumerate(lengths):
        torch.testing.assert_close(pooled[row], REFERENCE[name](vectors[row, :length]))


def test_listing_and_unknown_names() -> None:
    assert {"first", "last", "max", "mean"} <= set(poolings.list())
    with pytest.raises(PolyglanceError, match="did you mean 'mean'"):
        build_pooling("meen", 4)
