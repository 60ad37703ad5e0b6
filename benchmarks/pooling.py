"""GPO's speed against two other implementations, in one process on the same vectors.

    OMP_NUM_THREADS=1 python benchmarks/pooling.py [--batch 128 --vectors 36 --dim 1024]

`official` is written from the description of the authors' code (spec §3.1): the BiGRU runs over
the whole padded batch, masks are −10000, the sort is along the padded axis. `loop` pools one
sample at a time, as the authors' helper for K-Max does. Results are compared before timing.
Exits with 1 if GPO is slower than either in training.
"""

import argparse
import copy
import sys
from collections.abc import Callable

import torch
from timing import median_seconds, show
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from polyglance.pooling import GPO, build_pooling
from polyglance.pooling.generators import position_code

MASK = -10000.0


def scores(pool: GPO, codes: Tensor, lengths: Tensor) -> Tensor:
    """codes [B, M, 32] → scores [B, M] of GPO's own weights."""
    packed = pack_padded_sequence(codes, lengths, True, enforce_sorted=False)
    states = pad_packed_sequence(pool.generator.sequence.gru(packed)[0], True)[0]
    return pool.generator.score((states[..., :32] + states[..., 32:]) / 2).squeeze(2)


def official(pool: GPO, vectors: Tensor, lengths: Tensor) -> Tensor:
    """One sequence per sample, large negative masks, the sort along the padded axis."""
    width = int(lengths.max())
    vectors = vectors[:, :width]
    mask = torch.arange(width) < lengths.unsqueeze(1)
    codes = position_code(width).float().unsqueeze(0).repeat(len(vectors), 1, 1)
    codes = codes.masked_fill(~mask.unsqueeze(2), 0)
    theta = scores(pool, codes, lengths).masked_fill(~mask, MASK).div(0.1).softmax(1)
    hidden = vectors.masked_fill(~mask.unsqueeze(2), MASK)
    ranked = hidden.sort(dim=1, descending=True).values.masked_fill(~mask.unsqueeze(2), 0)
    return (ranked * theta.unsqueeze(2)).sum(1)


def loop(pool: GPO, vectors: Tensor, lengths: Tensor) -> Tensor:
    """One sample after the other."""
    pooled = []
    for sample, length in zip(vectors, lengths.tolist(), strict=True):
        codes = position_code(length).float().unsqueeze(0)
        theta = scores(pool, codes, torch.tensor([length])).div(0.1).softmax(1)
        ranked = sample[:length].sort(dim=0, descending=True).values
        pooled.append(theta[0] @ ranked)
    return torch.stack(pooled)


def uncached(pool: GPO, vectors: Tensor, lengths: Tensor) -> Tensor:
    """GPO without its cached coefficients."""
    pool._kept.clear()
    return pool(vectors, lengths)


def training(pool: GPO, vectors: Tensor, lengths: Tensor, rounds: int) -> dict[str, float]:
    """Forward and backward passes of the three."""
    ways: dict[str, Callable[[GPO, Tensor, Tensor], Tensor]] = {
        "gpo": GPO.forward,
        "official": official,
        "loop": loop,
    }
    expected = official(pool, vectors, lengths)
    torch.testing.assert_close(pool(vectors, lengths), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(loop(pool, vectors, lengths), expected, rtol=1e-4, atol=1e-5)
    leaf = vectors.clone().requires_grad_()

    def step(way: Callable[[GPO, Tensor, Tensor], Tensor]) -> Callable[[], None]:
        return lambda: way(pool, leaf, lengths).square().sum().backward()

    return median_seconds({name: step(way) for name, way in ways.items()}, rounds)


def inference(pool: GPO, vectors: Tensor, lengths: Tensor, rounds: int) -> dict[str, float]:
    """Forward pass only, without gradients."""
    pool = copy.deepcopy(pool).eval()
    with torch.inference_mode():
        torch.testing.assert_close(pool(vectors, lengths), uncached(pool, vectors, lengths))
        return median_seconds(
            {
                "gpo, cache": lambda: pool(vectors, lengths),
                "gpo, no cache": lambda: uncached(pool, vectors, lengths),
                "official": lambda: official(pool, vectors, lengths),
                "mean": lambda: build_pooling("mean", pool.dim)(vectors, lengths),
            },
            rounds,
        )


def main() -> None:
    """Read the sizes, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--vectors", type=int, default=36, help="largest set of the batch")
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    torch.manual_seed(0)
    pool = build_pooling("gpo", given.dim)
    assert isinstance(pool, GPO)
    vectors = torch.randn(given.batch, given.vectors, given.dim)
    # Size augmentation drops a fifth of the regions (spec §3.3).
    kept = torch.rand(given.batch, given.vectors) > 0.2
    lengths = kept.sum(1).clamp(min=1)
    size = f"batch {given.batch}, up to {given.vectors} vectors of {given.dim}"
    print(f"{size}, {torch.get_num_threads()} threads, medians of {given.rounds}")
    times = training(pool, vectors, lengths, given.rounds)
    show("forward and backward", times)
    show("inference", inference(pool, vectors, lengths, given.rounds))
    sys.exit(times["gpo"] > min(times["official"], times["loop"]))


if __name__ == "__main__":
    main()
