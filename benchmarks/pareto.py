"""Recall, memory and time of a query by language, in tables like immich's.

    python benchmarks/pareto.py [MODEL ...] [--split test] [--json FILE]

A MODEL is an exported folder or a run (which needs torch); `base`, the default, is the included
one. For every language, the models by recall: the mean of R@1, R@5 and R@10 of captions searching
for their image; R@10; CPU milliseconds per query, the median of 200 captions encoded one by one;
and the memory of a process after encoding all of them. A model is Pareto optimal if no other is at
least as good in recall, memory and time and better in one.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from polyglance.core.languages import language_name
from polyglance.data import Dataset, load_dataset
from polyglance.evaluation import evaluate
from polyglance.evaluation.encoder import encode_quietly
from polyglance.runtime import open_model

SHARED = Path(__file__).parents[2] / "shared" / "data"
BASE = "base"
QUERIES, WARM = 200, 10
AXES = ("recall", "memory", "ms")


def opened(name: str) -> Any:
    """The model of a name."""
    return open_model(None if name == BASE and not Path(name).exists() else name)


def cost(name: str, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Milliseconds per query by language, and MB of this process after all."""
    model, found = opened(name), {}
    for code, own in texts.items():
        language = code if code in model.languages else None
        encode_quietly(model, own[:WARM], language)
        times = []
        for text in own[WARM:]:
            started = time.process_time()
            encode_quietly(model, [text], language)
            times.append(1000 * (time.process_time() - started))
        found[code] = statistics.median(times)
    lines = Path("/proc/self/status").read_text().splitlines()
    memory = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
    return {"ms": found, "memory": memory}


def cost_apart(name: str, texts: dict[str, list[str]]) -> dict[str, Any]:
    """The same in a separate process, with one thread."""
    command = [sys.executable, __file__, name, "--cost"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, input=json.dumps(texts).encode(), capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return dict(json.loads(done.stdout))


def queries(part: Dataset) -> dict[str, list[str]]:
    """Captions of each language to encode one by one."""
    return {
        code: list(dict.fromkeys(part.captions([code]).texts))[: QUERIES + WARM]
        for code in part.languages
    }


def measure(name: str, dataset: Dataset, split: str) -> dict[str, dict[str, float]]:
    """Recall, R@10, memory and milliseconds by language."""
    spent = cost_apart(name, queries(dataset.split(split)))
    report = evaluate(opened(name), dataset, split, bootstrap=0, show_progress=False)
    found = {}
    for one in report.results:
        way = one.metrics.text_to_image
        found[one.language] = {
            "recall": (way.r1 + way.r5 + way.r10) / 3,
            "r10": way.r10,
            "mr": one.metrics.mr,
            "memory": spent["memory"],
            "ms": spent["ms"][one.language],
        }
    return found


def optimal(name: str, found: dict[str, dict[str, float]]) -> bool:
    """Whether no other model is at least as good in every respect and better in one.

    >>> rows = {"a": dict(recall=5, memory=9, ms=1), "b": dict(recall=5, memory=8, ms=1)}
    >>> optimal("a", rows), optimal("b", rows)
    (False, True)
    """

    def gains(one: dict[str, float]) -> list[float]:
        return [one["recall"], -one["memory"], -one["ms"]]

    own = gains(found[name])
    others = [gains(one) for other, one in found.items() if other != name]
    return not any(
        all(theirs >= mine for theirs, mine in zip(other, own, strict=True)) and other != own
        for other in others
    )


def show(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """One Markdown table with a block of rows per language."""
    print("| language | model | recall | R@10 | mR | memory, MB | ms | Pareto optimal |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    codes = dict.fromkeys(code for found in results.values() for code in found)
    for code in codes:
        own = {name: found[code] for name, found in results.items() if code in found}
        for name in sorted(own, key=lambda name: -own[name]["recall"]):
            row = own[name]
            numbers = [f"{row[axis]:.1f}" for axis in ("recall", "r10", "mr")]
            numbers += [f"{row['memory']:.0f}", f"{row['ms']:.2f}"]
            best = "yes" if optimal(name, own) else "no"
            print(f"| {language_name(code)} | {name} | {' | '.join(numbers)} | {best} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=[BASE])
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--split", default="test")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cost", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cost:
        print(json.dumps(cost(given.models[0], json.load(sys.stdin))))
        return
    dataset = load_dataset(given.data)
    results = {name: measure(name, dataset, given.split) for name in given.models}
    show(results)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
