"""Batch normalisation of rows that occur several times."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from polyglance.text.embedders.characters.weighted_norm import WeightedBatchNorm


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8), st.integers(0, 999))
def test_weighted_batch_norm_is_batch_norm_of_repeated_rows(counts: list[int], seed: int) -> None:
    if sum(counts) < 2:
        counts = [*counts, 2]
    rows = torch.randn(len(counts), 3, generator=torch.Generator().manual_seed(seed))
    repeats = torch.tensor(counts)
    mine, theirs = WeightedBatchNorm(3), nn.BatchNorm1d(3)
    expected = theirs(rows.repeat_interleave(repeats, 0))
    found = mine(rows, repeats).repeat_interleave(repeats, 0)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(mine.running_var, theirs.running_var)
    torch.testing.assert_close(mine.eval()(rows), theirs.eval()(rows))
