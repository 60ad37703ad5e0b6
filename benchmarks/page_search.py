"""Processor time of a page of results, with products in 8 bits first and with exact ones alone.

    python benchmarks/page_search.py DATASET [--pictures 100000] [--rounds 40]

Embeddings of the dataset's images, with Gaussian noise of length 0.5 so that all differ, and its
captions as sentences, letter by letter as in the page. Both ways answer the same sentences in turn,
and their answers are compared.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from polyglance.data import load_dataset
from polyglance.gallery import Gallery
from polyglance.library.media.exif import FileMetadata
from polyglance.numerics.similarity import normalise
from polyglance.runtime import open_model
from polyglance.serve import Collection
from polyglance.serve.answers.searching import SearchRequest, search
from polyglance.serve.encoding.engine import Engine, Served
from polyglance.serve.images.facts import FactTable
from polyglance.studies.running.machine import commit, cpu_model

NOISE, IMAGES, LIMIT = 0.5, 24, 40


def memory() -> float:
    """Resident MB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset")
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    model, dataset = open_model(None), load_dataset(given.dataset)
    real = np.asarray(model.encode_images(dataset.paths()[:IMAGES], on_error="skip"))
    real = real[np.isfinite(real).all(1)]
    chance, shape = np.random.default_rng(0), (given.pictures, model.dim)
    noise = chance.standard_normal(shape, np.float32) * (NOISE / model.dim**0.5)
    vectors = normalise(real[chance.integers(0, len(real), given.pictures)] + noise)
    paths = [Path(f"/none/{number}.jpg") for number in range(given.pictures)]
    ids = [f"{number:032x}" for number in range(given.pictures)]
    collection = Collection(model, Gallery(paths, vectors, [], content=ids, unit=True), ["/none"])
    collection.__dict__["_facts"] = FactTable.of([], given.pictures)
    collection.__dict__["_head"] = lambda place: FileMetadata(0, 0)
    served, scorer = Served(collection, Engine(model)), collection.scorer
    before, start = memory(), time.process_time()
    scorer.prepare()
    print(f"prepared: {time.process_time() - start:.1f} s, {memory() - before:+.0f} MB")
    quick, table = scorer._quantised, dataset.captions()
    taken: dict[str, list[tuple[float, float]]] = {"exact": [], "8 bits first": []}
    for row in chance.choice(len(table.texts), given.rounds, replace=False):
        text = table.texts[row][: int(chance.integers(3, 40))]
        answers = []
        for name, scorer._quantised in (("exact", None), ("8 bits first", quick)):
            own, wall = time.process_time(), time.perf_counter()
            found = search(served, SearchRequest(text), LIMIT, None)
            taken[name].append((time.process_time() - own, time.perf_counter() - wall))
            answers.append([hit.id for hit in found.hits])
        assert answers[0] == answers[1], text
    served.engine.close()
    print(f"{given.pictures:,} images; {cpu_model()}; commit {commit()}; load {os.getloadavg()[0]}")
    print("| page of results | processor ms, median | most | ms, median |")
    print("| --- | ---: | ---: | ---: |")
    for name, times in taken.items():
        busy, wall = 1000 * np.array(times).T
        print(f"| {name} | {np.median(busy):.1f} | {busy.max():.1f} | {np.median(wall):.1f} |")
    ratio = np.divide(*(np.median([x for x, _ in taken[name]]) for name in taken))
    print(f"\nratio of processor time: {ratio:.1f}")


if __name__ == "__main__":
    main()
