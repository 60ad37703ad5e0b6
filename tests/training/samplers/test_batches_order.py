"""Passes over rows: each a shuffle of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TrainingRecipe
from polyglance.training.samplers.batches import BatchOrder


def one_pass(order: BatchOrder, number: int) -> list[list]:
    return [order.batch(number, index).tolist() for index in range(order.batches_per_pass)]


@given(st.integers(1, 60), st.integers(2, 9), st.booleans(), st.integers(0, 5))
def test_a_pass_has_every_row_once(count: int, size: int, drop: bool, number: int) -> None:
    rows = 100 + np.arange(count)
    recipe = TrainingRecipe(batch_size=size, drop_last=drop)
    if drop and count < size:
        with pytest.raises(PolyglanceError, match=f"{count} captions do not fill one batch"):
            BatchOrder(rows, rows % 4, recipe, 0)
        return
    order = BatchOrder(rows, rows % 4, recipe, 0)
    found = one_pass(order, number)
    flat = [row for batch in found for row in batch]
    assert len(set(flat)) == len(flat) == (count // size * size if drop else count)
    assert set(flat) <= set(rows.tolist())
    assert order.batches_per_pass == (count // size if drop else -(-count // size))
    assert all(len(batch) <= size for batch in found)


def test_passes_seeds_and_streams_differ_and_can_be_asked_in_any_order() -> None:
    rows, lengths = np.arange(40), np.zeros(40)

    def order(seed: int = 0, stream: int = 0) -> BatchOrder:
        return BatchOrder(rows, lengths, TrainingRecipe(batch_size=8, seed=seed), stream)

    first = order()
    passes = [one_pass(first, number) for number in (0, 1, 2)]
    found = [*passes, one_pass(order(seed=1), 0), one_pass(order(stream=1), 0)]
    assert all(a != b for i, a in enumerate(found) for b in found[:i])
    backwards = [one_pass(order(), number) for number in (2, 1, 0)]
    assert backwards[::-1] == passes


def test_pairs_stay_together() -> None:
    rows = np.stack([np.arange(10), 50 + np.arange(10)], 1)
    order = BatchOrder(rows, np.zeros(10), TrainingRecipe(batch_size=4), 0)
    found = np.concatenate([order.batch(0, index) for index in range(3)])
    assert sorted(found.tolist()) == rows.tolist()
