"""The cost of an exported model: its folder, loading, queries, images, memory; one core.

    python benchmarks/runtime.py EXPORTED [--texts FILE] [--images DIR] [--json FILE]

Each part runs in a separate process, so that they do not affect each other's memory. The queries
are captions of a dataset's FILE (.jsonl, .gz or not) or lines of text, each encoded once, after
ten others, as words seen before are faster. In addition to the wall-clock time there is the CPU
time, which is independent of other programs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PHASES = ("import", "load", "first query")
QUERIES = [
    "two dogs in the snow", "zwei Hunde im Schnee", "雪地里的两只狗", "deux chiens dans la neige",
    "dos perros en la nieve", "كلبان في الثلج", "雪の中の二匹の犬", "दो कुत्ते बर्फ में",
]  # fmt: skip


def memory() -> float:
    """Current memory of this process in MB, including mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def of_loading(folder: str, _: str) -> dict[str, float]:
    """Milliseconds of the import, of loading a model, and of the first embedding."""
    marks = [(time.perf_counter(), time.process_time())]
    import polyglance.runtime

    marks.append((time.perf_counter(), time.process_time()))
    model = polyglance.runtime.load(folder)
    marks.append((time.perf_counter(), time.process_time()))
    model.encode_text(QUERIES[:1])
    marks.append((time.perf_counter(), time.process_time()))
    found = {}
    for name, before, after in zip(PHASES, marks[:-1], marks[1:], strict=True):
        for clock, a, b in zip(("clock", "processor"), before, after, strict=True):
            found[f"{name}, ms of the {clock}"] = 1000 * (b - a)
    return found | {"memory, MB": memory()}


def of_queries(folder: str, source: str) -> dict[str, float]:
    """Milliseconds per query."""
    import polyglance.runtime

    texts = QUERIES
    if source:
        from polyglance.text.embedders.subwords.texts import piece_texts

        texts = list(dict.fromkeys(piece_texts(Path(source))))
    model, times = polyglance.runtime.load(folder), []
    model.encode_text(texts[:10])
    for text in texts[10:1010] or texts:
        started = time.perf_counter(), time.process_time()
        model.encode_text([text])
        times.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    found = {"queries": float(len(times))}
    for name, values in zip(("clock", "processor"), zip(*times, strict=True), strict=True):
        found[f"p50 of the {name}, ms"] = 1000 * statistics.median(values)
        found[f"p95 of the {name}, ms"] = 1000 * statistics.quantiles(values, n=20)[-1]
    return found | {"memory, MB": memory()}


def of_images(folder: str, source: str) -> dict[str, float]:
    """Images per second, including decoding."""
    import polyglance.runtime

    paths = sorted(path for path in Path(source).iterdir() if path.is_file())[:200]
    model = polyglance.runtime.load(folder)
    model.encode_images(paths[:8], show_progress=False)
    started = time.process_time()
    model.encode_images(paths, show_progress=False)
    # CPU time rather than wall-clock time: other processes may use the core.
    seconds = time.process_time() - started
    return {"pictures a second and core": len(paths) / seconds, "memory, MB": memory()}


PARTS = {"loading": of_loading, "queries": of_queries, "images": of_images}


def measure(part: str, folder: str, source: str, rounds: int) -> dict[str, float]:
    """The medians of a part over processes."""
    command = [sys.executable, __file__, folder, "--part", part, "--source", source]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = [
        json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        for _ in range(rounds)
    ]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--texts", default="")
    parser.add_argument("--images", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="for 'polyglance card --speed'")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--source", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given.folder, given.source)))
        return
    files = [path for path in Path(given.folder).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    found = {"folder": {"MB": size}}
    print(f"folder: {size:.1f} MB")
    for path in sorted(files, key=lambda path: -path.stat().st_size):
        name = path.relative_to(given.folder).as_posix()
        print(f"  {name:34} {path.stat().st_size / 1e6:8.2f} MB")
    sources = {"loading": "", "queries": given.texts, "images": given.images}
    for part, source in sources.items():
        if part == "images" and not source:
            continue
        print(f"{part}:")
        rounds = given.rounds if part == "loading" else 1
        found[part] = measure(part, given.folder, source, rounds)
        for name, value in found[part].items():
            print(f"  {name:34} {value:8.1f}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
