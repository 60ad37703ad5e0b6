"""Time `rank_both` against the official per-image loop, and measure its memory.

    python benchmarks/evaluation.py [--small]

The loop is written from the protocol's description (spec §2.4): for every image, the products
with all captions, a full sort, and the best rank among its own; for every caption, the products
with all images and a full sort. Both run in the same process on the same vectors; the loop's
ranks are checked against ours. Exits with 1 if the target is missed.
"""

import argparse
import statistics
import sys
import time
import tracemalloc

import numpy as np

from polyglance.evaluation.ranking.ranks import Ranks, rank_both
from polyglance.numerics.similarity import normalise

SIZES = ((1000, 5), (5000, 5))
DIMENSION = 1024
TARGET_RATIO = 20
TARGET_BYTES = 1 << 30


def vectors(images: int, per_image: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normalised images [N, D], captions [N · n, D] near them, and the index."""
    generator = np.random.default_rng(0)
    base = normalise(generator.standard_normal((images, DIMENSION), np.float32))
    owner = np.arange(images).repeat(per_image)
    noise = generator.standard_normal((len(owner), DIMENSION), np.float32)
    return base, normalise(base[owner] + 0.2 * noise), owner


def official_loop(images: np.ndarray, captions: np.ndarray, owner: np.ndarray) -> Ranks:
    """One query at a time, sorting everything."""
    image_to_text = np.empty(len(images), np.int64)
    for i in range(len(images)):
        order = np.argsort(captions @ images[i])[::-1]
        places = [np.flatnonzero(order == j)[0] for j in np.flatnonzero(owner == i)]
        image_to_text[i] = min(places)
    text_to_image = np.empty(len(captions), np.int64)
    for j in range(len(captions)):
        order = np.argsort(images @ captions[j])[::-1]
        text_to_image[j] = np.flatnonzero(order == owner[j])[0]
    return Ranks(image_to_text, text_to_image)


def seconds(function, *arguments, repeat: int = 1) -> tuple[float, Ranks]:
    """Median wall time of `repeat` runs, and the result."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def peak_bytes(*arguments: np.ndarray) -> int:
    """Peak memory of `rank_both` beyond its inputs."""
    tracemalloc.start()
    rank_both(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="only 1,000 images")
    sizes = SIZES[:1] if parser.parse_args().small else SIZES
    missed = False
    print(
        f"{'images × captions':>18} {'ours s':>8} {'loop s':>8} {'ratio':>7} {'peak MiB':>9} same"
    )
    for count, per_image in sizes:
        data = vectors(count, per_image)
        ours, ranks = seconds(rank_both, *data, repeat=3)
        loop, reference = seconds(official_loop, *data)
        # Different summation orders may swap neighbours that differ in the last bit.
        same = np.mean(
            np.concatenate(
                [
                    ranks.image_to_text == reference.image_to_text,
                    ranks.text_to_image == reference.text_to_image,
                ]
            )
        )
        peak = peak_bytes(*data)
        name = f"{count:,} × {count * per_image:,}"
        ratio = loop / ours
        print(f"{name:>18} {ours:8.2f} {loop:8.2f} {ratio:6.1f}× {peak / 2**20:9.0f} {same:.2%}")
        missed = missed or ratio < TARGET_RATIO or peak > TARGET_BYTES
    print(f"target: ratio ≥ {TARGET_RATIO}, peak ≤ {TARGET_BYTES >> 20} MiB")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
