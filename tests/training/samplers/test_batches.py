import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.training.samplers.batches import bucketed_batches

lengths = st.lists(st.integers(1, 30), max_size=200)


@given(lengths, st.integers(1, 16), st.integers(1, 8), st.integers(0, 9))
def test_every_row_exactly_once(sizes, batch_size, buckets, seed):
    batches = bucketed_batches(np.array(sizes), batch_size, np.random.default_rng(seed), buckets)
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    assert len(batches) == -(-len(sizes) // batch_size)
    assert all(len(batch) <= batch_size for batch in batches)


@given(lengths, st.integers(1, 16), st.integers(1, 8), st.integers(0, 9))
def test_drop_last_leaves_full_batches_only(sizes, batch_size, buckets, seed):
    rng = np.random.default_rng(seed)
    batches = bucketed_batches(np.array(sizes), batch_size, rng, buckets, drop_last=True)
    assert [len(batch) for batch in batches] == [batch_size] * (len(sizes) // batch_size)
    rows = [i for batch in batches for i in batch]
    assert len(set(rows)) == len(rows)


def test_the_generator_alone_decides():
    sizes = np.random.default_rng(0).integers(1, 30, 1000)
    runs = [bucketed_batches(sizes, 32, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    flat = [np.concatenate(run).tolist() for run in runs]
    assert flat[0] == flat[1] != flat[2]


def test_buckets_save_padding_and_batches_are_shuffled():
    sizes = np.random.default_rng(0).integers(5, 40, 20_000)
    waste = {}
    for buckets in (1, 50):
        batches = bucketed_batches(sizes, 64, np.random.default_rng(1), buckets)
        waste[buckets] = sum(int((sizes[b].max() - sizes[b]).sum()) for b in batches)
    assert waste[50] < 0.05 * waste[1]
    means = [sizes[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.2


@pytest.mark.parametrize(("batch_size", "buckets"), [(0, 5), (4, 0)])
def test_sizes_must_be_positive(batch_size, buckets):
    with pytest.raises(PolyglanceError, match="at least 1"):
        bucketed_batches(np.ones(3), batch_size, np.random.default_rng(0), buckets)
