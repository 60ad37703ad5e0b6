"""Libraries: syncs of many unchanged images, searches in memory and by index.

    python benchmarks/library.py sync --count 100000
    python benchmarks/library.py search --count 100000 --dim 512
    python benchmarks/library.py index --count 600000 --dim 128

Images are tiny files, and embeddings random ones around centres (`sync` and `search` do not
depend on what they are; the recall of `index` does).
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from polyglance.data.images.read import content_key
from polyglance.library import Filter, Library, sync
from polyglance.library.record import Record, Stamp, make_id
from polyglance.library.stores.lance import LanceStore
from polyglance.library.syncing.scan import scan

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080200000090"
    "7753de0000000c4944415408d763f8ffff3f0005fe02fea735818e0000000049454e44ae426082"
)
MODEL = "ab" * 32


class NoModel:
    """Nothing is to be embedded."""

    id, similarity_name, folder, images = MODEL, "cosine", "", None

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.images = self  # type: ignore[assignment]
        self.preprocessing = None


def embeddings(count: int, dim: int, seed: int = 0) -> np.ndarray:
    """Around a thousand centres, as photographs of things are."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(1000, dim)).astype(np.float32)
    noise = generator.standard_normal((count, dim), np.float32)
    return centres[generator.integers(0, 1000, count)] + 0.7 * noise


def write_files(folder: Path, count: int) -> None:
    """Tiny images of different content, a thousand in a folder."""
    for number in range(count):
        path = folder / f"{number // 1000:04}" / f"{number:07}.png"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PNG + number.to_bytes(4, "big"))


def row(path: str, stamp: Stamp, number: int) -> Record:
    """A row as a sync would write it."""
    content = content_key(Path(path))
    tags = tuple(tag for tag, every in (("tenth", 10), ("hundredth", 100)) if number % every == 0)
    return Record(make_id(content), content, path, stamp, 1, 1, tags=tags)


def timed(what: str, work: object, times: int = 1) -> object:
    """Run something and print its median and range in seconds, and the processor time of it."""
    taken, busy, found = [], [], None
    for _ in range(times):
        start, own = time.perf_counter(), time.process_time()
        found = work()  # type: ignore[operator]
        taken.append(time.perf_counter() - start)
        busy.append(time.process_time() - own)
    spread = f"{min(taken):.4f} to {max(taken):.4f}, {times} times"
    print(f"{what}: {np.median(taken):.4f} s ({spread}), processor {np.median(busy):.4f} s")
    return found


def bench_sync(work: Path, count: int) -> None:
    folder, place = work / "pictures", work / "library"
    write_files(folder, count)
    library = Library.create(place, NoModel(512))
    library.change(folders=[str(folder)])
    seen = scan([str(folder)]).seen
    records = [row(path, stamp, n) for n, (path, stamp) in enumerate(seen.items())]
    for start in range(0, count, 10_000):
        part = records[start : start + 10_000]
        library.store.upsert(part, embeddings(len(part), 512, start), MODEL)
    library.store.optimise()
    timed("walk alone", lambda: scan([str(folder)]), 5)
    report = timed("sync, nothing changed", lambda: sync(Library.open(place)), 5)
    assert report.unchanged == count  # type: ignore[attr-defined]
    (folder / "0000").rename(folder / "renamed")
    report = timed("sync, 1,000 renamed", lambda: sync(Library.open(place)))
    assert report.moved == 1000  # type: ignore[attr-defined]
    for path in list((folder / "0001").iterdir()):
        os.utime(path, ns=(1, 1))
    report = timed("sync, 1,000 touched", lambda: sync(Library.open(place)))
    assert report.unchanged == count  # type: ignore[attr-defined]


def bench_search(work: Path, count: int, dim: int) -> None:
    store = LanceStore.create(work / "store", MODEL, dim)
    fill(store, count, dim)
    store.optimise()
    opened = LanceStore(work / "store")
    queries = embeddings(50, dim, 7)
    timed("open and first search", lambda: LanceStore(work / "store").search(queries[0], 10, MODEL))
    opened.search(queries[0], 10, MODEL)
    for name, where in filters().items():
        each = iter(queries)
        timed(f"search, {name}", lambda e=each, w=where: opened.search(next(e), 10, MODEL, w), 30)
    vectors = opened._in_memory().index.vectors
    query = queries[0] / np.linalg.norm(queries[0])
    timed("product, float32", lambda: vectors @ query, 20)
    half, half_query = vectors[:20_000].astype(np.float16), query.astype(np.float16)
    timed("product, float16, of 20,000 rows", lambda: half @ half_query, 3)


def bench_index(work: Path, count: int, dim: int) -> None:
    store = LanceStore.create(work / "store", MODEL, dim, exact_below=1)
    fill(store, count, dim)
    timed("index", store.optimise)
    exact = LanceStore(work / "store", exact_below=10**9)
    queries = embeddings(50, dim, 7)
    for name, where in filters().items():
        each = iter(queries)
        timed(f"search, {name}", lambda e=each, w=where: store.search(next(e), 10, MODEL, w), 50)
        found = 0
        for query in queries:
            wanted = {hit.record.id for hit in exact.search(query, 10, MODEL, where)}
            found += len(wanted & {hit.record.id for hit in store.search(query, 10, MODEL, where)})
        print(f"recall@10, {name}: {found / 500:.3f} of 50 queries")


def fill(store: LanceStore, count: int, dim: int) -> None:
    """Rows without files."""
    for start in range(0, count, 20_000):
        rows = []
        for number in range(start, min(start + 20_000, count)):
            tags = [t for t, every in (("tenth", 10), ("hundredth", 100)) if number % every == 0]
            path = f"/pictures/{number % 100:02}/{number:08}.jpg"
            name = f"{number:032x}"
            rows.append(Record(name, name, path, Stamp(1, 1, number), 9, 9, tags=tuple(tags)))
        store.upsert(rows, embeddings(len(rows), dim, start), MODEL)


def filters() -> dict[str, Filter]:
    """No filter, and those that leave a tenth and a hundredth."""
    return {
        "everything": Filter(),
        "a tenth by tag": Filter(tags=("tenth",)),
        "a hundredth by tag": Filter(tags=("hundredth",)),
        "a hundredth by folder": Filter(folder="/pictures/07"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["sync", "search", "index"])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    given = parser.parse_args()
    print(f"{given.what}, {given.count:,} images, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "sync":
            bench_sync(Path(folder), given.count)
        else:
            (bench_search if given.what == "search" else bench_index)(
                Path(folder), given.count, given.dim
            )


if __name__ == "__main__":
    main()
