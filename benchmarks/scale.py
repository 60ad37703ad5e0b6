"""Time, memory and recall@10 of searches as a library grows, and what a billion images would take.

    python benchmarks/scale.py embed DATASET vectors.npz
    python benchmarks/scale.py measure vectors.npz results.jsonl --counts 10000 100000 1000000
    python benchmarks/scale.py sweep STORE vectors.npz --probes 1 2 3 4 --refine 5 10
    python benchmarks/scale.py report results.jsonl --help

Vectors are embeddings of real images. Beyond as many as there are, they are made of them, as
`--further` says: `noise` adds Gaussian noise of the length `--noise` to one (of length 1), which
makes clusters of near-duplicates; `differences` adds `--noise` times the difference between two
others, which goes in the directions in which images differ, so that clusters overlap. Queries are
images that are left out of that, and captions. Every step runs in a process of its own, whose peak
memory is told. STORE is one that `measure --stores FOLDER` left.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.memory import peak_memory
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record, Stamp
from polyglance.library.stores import lance
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


def differing(real: np.ndarray, start: int, count: int, noise: float) -> np.ndarray:
    """As `noisy`, with the differences between two real ones in place of Gaussian noise."""
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + count)
    found = real[numbers % len(real)].astype(np.float32)
    one, other = rng.integers(len(real), size=(2, count))
    return unit(found + (real[one] - real[other]) * (noise * (numbers >= len(real)))[:, None])


FURTHER = {"noise": noisy, "differences": differing}


def parts(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Vectors to keep, and those of queries by their kind."""
    found = np.load(path)
    images, texts = unit(found["images"]), unit(found["texts"])
    order = np.random.default_rng(1).permutation(len(images))
    return images[order[QUERIES:]], {"image": images[order[:QUERIES]], "caption": texts}


def fill(given: argparse.Namespace) -> dict[str, Any]:
    """Write the rows."""
    real, _ = parts(given.vectors)
    made = LanceStore.create(given.store, MODEL, real.shape[1])
    for start in range(0, given.count, ROWS):
        size = min(ROWS, given.count - start)
        rows = []
        for number in range(start, start + size):
            tags = [t for t, every in (("tenth", 10), ("hundredth", 100)) if number % every == 0]
            path, name = f"/pictures/{number % 100:02}/{number:08}.jpg", f"{number:032x}"
            rows.append(Record(name, name, path, Stamp(1, 1, number), 9, 9, tags=tuple(tags)))
        made.upsert(rows, FURTHER[given.further](real, start, size, given.noise), MODEL)
    return {"bytes": bytes_of(given.store)}


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def index(given: argparse.Namespace) -> dict[str, Any]:
    """Build the index, as a library does from 500,000 images on."""
    LanceStore(given.store, exact_below=1).optimise()
    return {"bytes": bytes_of(given.store)}


def ask(
    found: LanceStore, queries: dict[str, np.ndarray], filters: dict[str, Filter] = FILTERS
) -> dict[str, Any]:
    """Seconds of each search, and what it finds."""
    first = time.perf_counter()
    found.search(queries["image"][0], 10, MODEL)
    result: dict[str, Any] = {"first": time.perf_counter() - first}
    result.update(seconds={}, busy={}, found={})
    for kind, rows in queries.items():
        for name, where in filters.items():
            taken, busy, hits = [], [], []
            for row in rows:
                start, own = time.perf_counter(), time.process_time()
                answer = found.search(row, 10, MODEL, where)
                taken.append(time.perf_counter() - start)
                busy.append(time.process_time() - own)
                hits.append([hit.record.id for hit in answer])
            result["seconds"][f"{kind}, {name}"] = sorted(taken)
            result["busy"][f"{kind}, {name}"] = sorted(busy)
            result["found"][f"{kind}, {name}"] = hits
    return result


def exact(given: argparse.Namespace) -> dict[str, Any]:
    """Search in memory, all compared."""
    return ask(LanceStore(given.store, exact_below=10**12), parts(given.vectors)[1])


def indexed(given: argparse.Namespace) -> dict[str, Any]:
    """Search by the index."""
    return ask(LanceStore(given.store, exact_below=1), parts(given.vectors)[1])


STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    step.__name__: step for step in (fill, exact, index, indexed)
}


def step(given: argparse.Namespace) -> None:
    """One step, in this process; its figures go to stdout."""
    start, own, before = time.perf_counter(), os.times(), os.getloadavg()[0]
    found = STEPS[given.name](given)
    busy = sum(os.times()[:2]) - sum(own[:2])
    figures = {"wall": time.perf_counter() - start, "processor": busy, "peak": peak_memory()}
    print(json.dumps({**found, **figures, "load": [before, os.getloadavg()[0]]}))


def measure(given: argparse.Namespace) -> None:
    """Steps at all counts; a line of JSON for each."""
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        for count in given.counts:
            store = Path(given.stores or made) / f"{given.further}-{count}"
            answers: dict[str, Any] = {}
            for name in given.steps:
                words = ["step", name, store, given.vectors, count, "--noise", given.noise]
                words += ["--further", given.further]
                command = [sys.executable, __file__, *map(str, words)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                answers[name] = found.pop("found", None)
                if name == "indexed" and answers.get("exact"):
                    found["recall"] = dict(recalls(answers["exact"], answers["indexed"]))
                line = {"count": count, "step": name, "further": given.further, **found}
                with Path(given.results).open("a") as handle:
                    handle.write(json.dumps(line) + "\n")
                shown = {k: v for k, v in found.items() if k not in ("seconds", "busy")}
                print(count, name, shown, flush=True)


def sweep(given: argparse.Namespace) -> None:
    """recall@10 and time of searches without a filter, by the settings of the index."""
    queries, unfiltered = parts(given.vectors)[1], {"all": EVERYTHING}
    wanted = ask(LanceStore(given.store, exact_below=10**12), queries, unfiltered)["found"]
    store = LanceStore(given.store, exact_below=1)
    print("| PROBES | REFINE | partitions | queries | recall@10 | processor ms | ms |")
    for lance.PROBES, lance.REFINE in product(given.probes, given.refine):
        found = ask(store, queries, unfiltered)
        number = lance.probes(store.count(), filtered=False)
        for kind, recall in recalls(wanted, found["found"]):
            busy, taken = (1000 * np.median(found[of][kind]) for of in ("busy", "seconds"))
            settings = f"{lance.PROBES:g} | {lance.REFINE} | {number}"
            print(f"| {settings} | {kind} | {recall:.3f} | {busy:.0f} | {taken:.0f} |", flush=True)


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


def add_vectors_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--further", choices=FURTHER, default="noise", help="see above")
    parser.add_argument("--noise", type=float, default=0.5)


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
    one.add_argument("vectors", type=Path)
    one.add_argument("results")
    one.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000])
    add_vectors_options(one)
    one.add_argument("--folder", help="where the stores are made; they are removed at the end")
    one.add_argument("--stores", help="where they are made, or were by an earlier call, to be kept")
    one.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    one.set_defaults(run=measure)
    one = commands.add_parser("step")
    one.add_argument("name", choices=STEPS)
    one.add_argument("store", type=Path)
    one.add_argument("vectors", type=Path)
    one.add_argument("count", type=int)
    add_vectors_options(one)
    one.set_defaults(run=step)
    one = commands.add_parser("sweep")
    one.add_argument("store", type=Path)
    one.add_argument("vectors", type=Path)
    one.add_argument("--probes", type=float, nargs="+", default=[lance.PROBES])
    one.add_argument("--refine", type=int, nargs="+", default=[lance.REFINE])
    one.set_defaults(run=sweep)
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
