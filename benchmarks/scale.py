"""Time, memory and recall@10 of searches as a library grows, and what a billion images would take.

    python benchmarks/scale.py embed DATASET vectors.npz
    python benchmarks/scale.py measure vectors.npz results.jsonl --counts 10000 100000 1000000
    python benchmarks/scale.py report results.jsonl --help

Vectors are embeddings of real images. Beyond as many as there are, each is one of them with
Gaussian noise of the length `--noise` (the real one has length 1). Queries are images that are
left out of that, and captions. Every step runs in a process of its own, whose peak memory is told.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.memory import peak_memory
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record, Stamp
from polyglance.library.stores.lance import LanceStore

MODEL, ROWS, QUERIES = "ab" * 32, 20_000, 50
FILTERS = {
    "all": EVERYTHING,
    "a tenth": Filter(tags=("tenth",)),
    "a hundredth": Filter(tags=("hundredth",)),
}


def embed(given: argparse.Namespace) -> None:
    """Embed the images of a dataset and, for queries, captions in all its languages."""
    from polyglance.data import load_dataset
    from polyglance.runtime import load, shipped

    model = load(shipped())
    dataset = load_dataset(given.dataset)
    paths = dataset.paths()
    paths = paths[:: -(-len(paths) // given.images)]
    start, own = time.perf_counter(), time.process_time()
    images = model.encode_images(paths, on_error="skip")
    taken, busy = time.perf_counter() - start, time.process_time() - own
    table = dataset.captions()
    rng = np.random.default_rng(0)
    texts = [
        model.encode_text(table.texts[row], table.languages[row])[0]
        for row in rng.choice(len(table.texts), QUERIES, replace=False)
    ]
    np.savez(given.vectors, images=images[np.isfinite(images).all(1)], texts=np.stack(texts))
    print(f"{len(paths)} images: {taken:.0f} s, processor {busy:.0f} s, load {os.getloadavg()[0]}")


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def noisy(real: np.ndarray, start: int, count: int, noise: float) -> np.ndarray:
    """Rows `start` and following of the collection: the real ones first, then noisy ones."""
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + count)
    found = real[numbers % len(real)].astype(np.float32)
    shift = rng.standard_normal(found.shape, np.float32) * (noise / found.shape[1] ** 0.5)
    return unit(found + shift * (numbers >= len(real))[:, None])


def parts(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Vectors to keep, and those of queries by their kind."""
    found = np.load(path)
    images, texts = unit(found["images"]), unit(found["texts"])
    order = np.random.default_rng(1).permutation(len(images))
    return images[order[QUERIES:]], {"image": images[order[:QUERIES]], "caption": texts}


def fill(store: Path, vectors: Path, count: int, noise: float) -> dict[str, Any]:
    """Write the rows."""
    real, _ = parts(vectors)
    made = LanceStore.create(store, MODEL, real.shape[1])
    for start in range(0, count, ROWS):
        size = min(ROWS, count - start)
        rows = []
        for number in range(start, start + size):
            tags = [t for t, every in (("tenth", 10), ("hundredth", 100)) if number % every == 0]
            path, name = f"/pictures/{number % 100:02}/{number:08}.jpg", f"{number:032x}"
            rows.append(Record(name, name, path, Stamp(1, 1, number), 9, 9, tags=tuple(tags)))
        made.upsert(rows, noisy(real, start, size, noise), MODEL)
    return {"bytes": sum(path.stat().st_size for path in store.rglob("*") if path.is_file())}


def index(store: Path, vectors: Path, count: int, noise: float) -> dict[str, Any]:
    """Build IVF_HNSW_SQ, as a library does from 500,000 images on."""
    LanceStore(store, exact_below=1).optimise()
    return {"bytes": sum(path.stat().st_size for path in store.rglob("*") if path.is_file())}


def ask(found: LanceStore, queries: dict[str, np.ndarray]) -> dict[str, Any]:
    """Seconds of each search, and what it finds."""
    first = time.perf_counter()
    found.search(queries["image"][0], 10, MODEL)
    result: dict[str, Any] = {"first": time.perf_counter() - first, "seconds": {}, "found": {}}
    for kind, rows in queries.items():
        for name, where in FILTERS.items():
            taken, hits = [], []
            for row in rows:
                start = time.perf_counter()
                answer = found.search(row, 10, MODEL, where)
                taken.append(time.perf_counter() - start)
                hits.append([hit.record.id for hit in answer])
            result["seconds"][f"{kind}, {name}"] = sorted(taken)
            result["found"][f"{kind}, {name}"] = hits
    return result


def exact(store: Path, vectors: Path, count: int, noise: float) -> dict[str, Any]:
    """Search in memory, all compared."""
    return ask(LanceStore(store, exact_below=10**12), parts(vectors)[1])


def indexed(store: Path, vectors: Path, count: int, noise: float) -> dict[str, Any]:
    """Search by the index."""
    return ask(LanceStore(store, exact_below=1), parts(vectors)[1])


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    step.__name__: step for step in (fill, exact, index, indexed)
}


def step(given: argparse.Namespace) -> None:
    """One step, in this process; its figures go to stdout."""
    start, own, before = time.perf_counter(), os.times(), os.getloadavg()[0]
    found = STEPS[given.name](Path(given.store), Path(given.vectors), given.count, given.noise)
    busy = sum(os.times()[:2]) - sum(own[:2])
    figures = {"wall": time.perf_counter() - start, "processor": busy, "peak": peak_memory()}
    print(json.dumps({**found, **figures, "load": [before, os.getloadavg()[0]]}))


def measure(given: argparse.Namespace) -> None:
    """All steps at all counts; a line of JSON for each."""
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for count in given.counts:
            store = Path(folder) / str(count)
            answers: dict[str, Any] = {}
            for name in STEPS:
                words = ["step", name, store, given.vectors, count, "--noise", given.noise]
                command = [sys.executable, __file__, *map(str, words)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                answers[name] = found.pop("found", None)
                if name == "indexed":
                    found["recall"] = dict(recalls(answers["exact"], answers["indexed"]))
                line = {"count": count, "step": name, "noise": given.noise, **found}
                with Path(given.results).open("a") as handle:
                    handle.write(json.dumps(line) + "\n")
                print(count, name, {k: v for k, v in found.items() if k != "seconds"}, flush=True)


def recalls(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for kind, rows in wanted.items():
        hits = [len(set(a) & set(b)) / len(a) for a, b in zip(rows, found[kind], strict=True)]
        yield kind, float(np.mean(hits))


def report(given: argparse.Namespace) -> None:
    """Tables of what was measured, slopes, and a plan."""
    from scale_plan import print_plan, print_tables

    lines = [json.loads(line) for line in Path(given.results).read_text().splitlines()]
    print_tables(lines)
    print_plan(lines, given)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("embed")
    one.add_argument("dataset")
    one.add_argument("vectors")
    one.add_argument("--images", type=int, default=7000, help="images at most, evenly drawn")
    one.set_defaults(run=embed)
    one = commands.add_parser("measure")
    one.add_argument("vectors")
    one.add_argument("results")
    one.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000])
    one.add_argument("--noise", type=float, default=0.5)
    one.add_argument("--folder", help="where the stores are made; they are removed at the end")
    one.set_defaults(run=measure)
    one = commands.add_parser("step")
    one.add_argument("name", choices=STEPS)
    one.add_argument("store")
    one.add_argument("vectors")
    one.add_argument("count", type=int)
    one.add_argument("--noise", type=float, default=0.5)
    one.set_defaults(run=step)
    one = commands.add_parser("report")
    one.add_argument("results")
    one.add_argument("--images", type=float, default=1e9)
    one.add_argument("--core-hour", type=float, required=True, help="price of a core for an hour")
    one.add_argument("--gb-month", type=float, required=True, help="price of a GB of disk, a month")
    one.add_argument("--ram-month", type=float, required=True, help="price of a GB of memory")
    one.add_argument("--per-second", type=float, default=20, help="images that a core embeds")
    one.add_argument("--part", type=float, default=1e6, help="images of one store")
    one.add_argument("--thumbnail", type=float, default=0, help="bytes of a thumbnail; 0: none")
    one.add_argument("--days", type=float, default=7, help="in which all is to be embedded")
    one.set_defaults(run=report)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
