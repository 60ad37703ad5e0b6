"""What `benchmarks/scale.py` measured as tables, its slopes, and what follows for more images."""

import argparse
from collections.abc import Callable
from math import ceil, exp, log
from typing import Any

import numpy as np

Line = dict[str, Any]


def median(name: str, of: str = "seconds") -> Callable[[Line], float]:
    return lambda line: 1000 * float(np.median(line[of][name]))


MEASURES: list[tuple[str, str, Callable[[Line], float]]] = [
    ("write the rows, processor s", "fill", lambda line: line["processor"]),
    ("rows on disk, MB", "fill", lambda line: line["bytes"] / 1e6),
    ("exact: load, s", "exact", lambda line: line["first"]),
    ("exact: peak memory, MB", "exact", lambda line: line["peak"] / 1e6),
    ("exact: a search, median ms", "exact", median("caption, all")),
    ("exact: a search, processor ms", "exact", median("caption, all", "busy")),
    ("index: build, processor s", "index", lambda line: line["processor"]),
    ("index: build, wall s", "index", lambda line: line["wall"]),
    ("index: peak memory of the build, MB", "index", lambda line: line["peak"] / 1e6),
    ("rows and index on disk, MB", "index", lambda line: line["bytes"] / 1e6),
    ("index: peak memory of searches, MB", "indexed", lambda line: line["peak"] / 1e6),
    ("index: a search, median ms", "indexed", median("caption, all")),
    ("index: of a tenth, median ms", "indexed", median("caption, a tenth")),
    ("index: of a hundredth, median ms", "indexed", median("caption, a hundredth")),
    ("index: a search, processor ms", "indexed", median("caption, all", "busy")),
    ("index: of a tenth, processor ms", "indexed", median("caption, a tenth", "busy")),
    ("index: of a hundredth, processor ms", "indexed", median("caption, a hundredth", "busy")),
]


def slope(points: list[tuple[int, float]]) -> tuple[float, float] | None:
    """(exponent, logarithm of the factor) of the power law through points, by least squares."""
    if len(points) < 2:
        return None
    x, y = np.log([p[0] for p in points]), np.log([max(p[1], 1e-9) for p in points])
    exponent, factor = np.polyfit(x, y, 1)
    return float(exponent), float(factor)


def points_of(lines: list[Line], step: str, value: Callable[[Line], float]) -> dict[int, float]:
    """Count → value; of several measurements the last."""
    return {line["count"]: value(line) for line in lines if line["step"] == step}


def print_tables(lines: list[Line]) -> None:
    counts = sorted({line["count"] for line in lines})
    print("| |", " | ".join(f"{count:,}" for count in counts), "| slope |")
    print("| --- |", "---: | " * (len(counts) + 1))
    for name, step, value in MEASURES:
        found = points_of(lines, step, value)
        fit = slope(sorted(found.items()))
        cells = [f"{found[count]:,.1f}" if count in found else "–" for count in counts]
        print(f"| {name} |", " | ".join(cells), f"| {'–' if fit is None else f'{fit[0]:.2f}'} |")
    for line in lines:
        for kind, recall in line.get("recall", {}).items():
            print(f"| {line['count']:,}: recall@10, {kind} | {recall:.3f} |")
    for line in lines:
        first, last = line["load"]
        print(f"load at {line['count']:,} {line['step']}: {first:.1f} to {last:.1f}")


def predict(lines: list[Line], measure: str, count: float) -> float | None:
    """What a measure would be, by the power law of those that there are."""
    step, value = next((s, v) for name, s, v in MEASURES if name == measure)
    fit = slope(sorted(points_of(lines, step, value).items()))
    return None if fit is None else exp(fit[0] * log(count) + fit[1])


def print_plan(lines: list[Line], given: argparse.Namespace) -> None:
    """Costs of embedding, keeping and searching; all prices are the caller's."""
    core_hours = given.images / given.per_second / 3600
    cores = ceil(core_hours / 24 / given.days)
    print(f"\nembedding {given.images:,.0f} images at {given.per_second:g} a core and second:")
    print(f"  {core_hours:,.0f} core-hours, {cores:,} cores for {given.days:g} days,")
    print(f"  at {given.core_hour:g} a core-hour: {core_hours * given.core_hour:,.0f}")
    part = min(given.images, given.part)
    parts = ceil(given.images / part)
    size = predict(lines, "rows and index on disk, MB", part) or predict(
        lines, "rows on disk, MB", part
    )
    disk = parts * (size or 0) / 1000 + given.images * given.thumbnail / 1e9
    print(f"keeping it in {parts:,} stores of {part:,.0f} rows:")
    print(f"  disk {disk:,.0f} GB (thumbnails of {given.thumbnail:g} bytes each among it),")
    print(f"  at {given.gb_month:g} a GB-month: {disk * given.gb_month:,.0f} a month")
    build = predict(lines, "index: build, processor s", part)
    if build is not None:
        hours = parts * build / 3600
        print(f"  building the indexes: {hours:,.0f} core-hours: {hours * given.core_hour:,.0f}")
    for name in ("exact: peak memory, MB", "index: peak memory of searches, MB"):
        memory = predict(lines, name, part)
        if memory is not None:
            total = parts * memory / 1000
            price = total * given.ram_month
            print(f"  {name.split(':')[0]}: memory {total:,.0f} GB, {price:,.0f} a month,", end=" ")
            taken = predict(lines, f"{name.split(':')[0]}: a search, median ms", part)
            print(f"a search {taken:,.0f} ms in each store, all asked at once")
