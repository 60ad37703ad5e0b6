"""Batches of rows of similar length, and the sampler of all captions."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import Recipe, TrainingRecipe
from polyglance.training.inputs.data import TrainingData
from polyglance.training.samplers.base import Sampler, Term, samplers


def bucketed_batches(
    lengths: np.ndarray,
    batch_size: int,
    rng: np.random.Generator,
    buckets: int = 50,
    drop_last: bool = False,
) -> list[np.ndarray]:
    """Shuffled batches of rows of similar length, every row exactly once.

    Rows are shuffled, cut into mega-batches of `buckets` batches, sorted by length inside each
    (ties stay shuffled), cut into batches, and the batches shuffled. This limits padding, and
    batches still have different rows in every epoch.

    Args:
        lengths: [n], of the rows.
        batch_size: rows per batch.
        rng: random generator.
        buckets: batches sorted together; 1 is plain shuffling.
        drop_last: drop an incomplete last batch.
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


class BatchOrder:
    """Batches of rows, or of pairs of rows; every pass is shuffled with a seed of its own.

    Args:
        rows: [n], or [n, 2] for pairs.
        lengths: [n], for batches of similar lengths.
        recipe: batch size, buckets and seed.
        stream: separates the random orders of samplers.
    """

    def __init__(
        self, rows: np.ndarray, lengths: np.ndarray, recipe: TrainingRecipe, stream: int
    ) -> None:
        self.rows, self.lengths = rows, lengths
        self.recipe, self.stream = recipe, stream
        self._pass = (-1, [np.empty(0, np.int64)])
        self.batches_per_pass = len(self._batches(0))
        if not self.batches_per_pass:
            raise PolyglanceError(
                f"{len(rows)} captions do not fill one batch of {recipe.batch_size}; "
                "lower training.batch_size or set training.drop_last=false"
            )

    def batch(self, number: int, index: int) -> np.ndarray:
        """Rows of batch `index` in pass `number`: [B], or [B, 2] if rows are pairs."""
        if self._pass[0] != number:
            self._pass = (number, self._batches(number))
        return self.rows[self._pass[1][index]]

    def _batches(self, number: int) -> list[np.ndarray]:
        recipe = self.recipe
        stream = [self.stream] if self.stream else []
        generator = np.random.default_rng([recipe.seed, number, *stream])
        size, buckets = recipe.batch_size, recipe.buckets
        return bucketed_batches(self.lengths, size, generator, buckets, recipe.drop_last)


@samplers.register("union")
class UnionSampler(Sampler):
    """All captions of all languages, shuffled together."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        rows = np.arange(data.grounded)
        self.order = BatchOrder(rows, data.lengths[rows], recipe.training, 0)
        self.updates_per_epoch = self.order.batches_per_pass

    def batches(self, start: int) -> Iterator[list[Term]]:
        for update in count(start):
            yield [Term(self.order.batch(*divmod(update, self.updates_per_epoch)))]
