"""Batches of texts of similar length."""

import numpy as np

from polyglance.errors import PolyglanceError


def bucketed_batches(
    lengths: np.ndarray,
    batch_size: int,
    rng: np.random.Generator,
    buckets: int = 50,
    drop_last: bool = False,
) -> list[np.ndarray]:
    """Shuffled batches of rows of similar length, every row exactly once.

    Rows are shuffled, cut into mega-batches of `buckets` batches, sorted by length inside each
    (ties stay shuffled), cut into batches, and the batches shuffled: little padding, and yet a
    row meets different rows in every epoch. `buckets=1` is plain shuffling. With `drop_last`
    fewer than `batch_size` random rows are left out.
    """
    if batch_size < 1 or buckets < 1:
        raise PolyglanceError(f"batch_size {batch_size} and buckets {buckets} must be at least 1")
    lengths = np.asarray(lengths)
    order = rng.permutation(len(lengths))
    if drop_last:
        order = order[: len(order) // batch_size * batch_size]
    batches: list[np.ndarray] = []
    for start in range(0, len(order), batch_size * buckets):
        mega = order[start : start + batch_size * buckets]
        mega = mega[np.argsort(lengths[mega], kind="stable")]
        batches += [mega[i : i + batch_size] for i in range(0, len(mega), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]
