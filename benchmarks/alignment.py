"""Time and memory of aligning two languages' word vectors, and the gain.

python benchmarks/alignment.py [--words 200000] [--dim 300] [--pairs 5000] [--neighbours 200000]

The vectors are generated: words in topics, the target a rotated copy with noise that grows with
rarity and a language-specific mean, so that neighbours and hubs resemble real ones. Peak memory is
that of the whole process, including the vectors.
"""

import argparse
import resource
import sys
import time

import numpy as np

from polyglance.alignment import AlignmentOptions, align, evaluate_alignment
from polyglance.text.vectors.word_vectors import WordVectors, normalise_rows

_UNIT = 1 << 30 if sys.platform == "darwin" else 1 << 20


def make(words: int, dim: int, noise: float) -> tuple[WordVectors, WordVectors]:
    """Two languages in which word i of one means word i of the other."""
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32)

    topics = normal(max(words // 50, 1), dim)
    source = topics[generator.integers(len(topics), size=words)]
    source += 0.7 * normal(words, dim)
    turn = np.linalg.qr(normal(dim, dim))[0]
    rarity = np.sqrt(np.linspace(0.3, 2.0, words, dtype=np.float32))[:, None]
    target = source @ turn.T
    target += noise * rarity * normal(words, dim)
    source += 0.5 * normal(1, dim)
    target += 0.5 * normal(1, dim)
    names = [f"w{number}" for number in range(words)]
    return WordVectors(names, normalise_rows(source)), WordVectors(names, normalise_rows(target))


def peak() -> float:
    """Largest memory of the process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNIT


def main() -> None:
    """Generate the vectors, align by both methods, and evaluate if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--neighbours", type=int, default=200_000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rate", type=float, default=25.0)
    parser.add_argument("--noise", type=float, default=2.5)
    parser.add_argument("--evaluate", type=int, default=0, metavar="WORDS", help="held-out words")
    options = parser.parse_args()
    source, target = make(options.words, options.dim, options.noise)
    rows = np.stack([np.arange(options.words)] * 2, axis=1)
    train, test = rows[: options.pairs], rows[options.pairs :][: options.evaluate]
    print(f"{options.words} × {options.dim} vectors, {len(train)} pairs: {peak():.2f} GiB")
    for method in ("svd", "rcsls"):
        wall, processor = time.perf_counter(), time.process_time()
        how = AlignmentOptions(
            method=method,
            neighbours=options.neighbours,
            iterations=options.iterations,
            rate=options.rate,
        )
        alignment, steps = align(source, target, train, how)
        spent = f"{time.perf_counter() - wall:.1f} s"
        spent += f" ({time.process_time() - processor:.1f} s of processor)"
        fall = f", f {steps[0].objective:.4f} → " if steps else ""
        fall += f"{min(step.objective for step in steps):.4f}" if steps else ""
        print(f"{method:5} {spent}, peak {peak():.2f} GiB{fall}", flush=True)
        if len(test):
            found = evaluate_alignment(alignment, source, target, test, how)
            texts = [f"{way} P@1 {100 * score.at[1]:.1f} %" for way, score in found.items()]
            print(f"      {', '.join(texts)}, peak {peak():.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
