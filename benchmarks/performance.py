"""Writes docs/performance.md: updates against the authors', and growth of time and memory.

    make bench            # or: python benchmarks/performance.py [--rounds 9]

Takes about ten minutes on an idle core. Every row is measured in a separate process.
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import growth
import torch
from training import SYSTEMS

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
TITLES = {
    "vsepp-512": "VSE++, GRU-512",
    "vsepp-1024": "VSE++, GRU-1,024",
    "vse-infinity": "VSE∞, BiGRU-1,024, GPO, 4×4 grid",
    "liwe": "LIWE, BiGRU-1,024, 3×3 grid",
    "nce": "nce, BiGRU-512",
    "kadar-c2i": "Kádár, captions against images",
    "kadar-c2c": "Kádár, captions against captions",
}
TEXT = (HERE / "performance.txt").read_text(encoding="utf-8")


def updates(precision: str, rounds: int) -> list[dict[str, Any]]:
    """A row of training.py for every system."""
    rows = []
    for name in SYSTEMS:
        print(f"{name}, {precision}", file=sys.stderr, flush=True)
        options = ["--only", name, "--rounds", str(rounds), "--precision", precision, "--json"]
        run = subprocess.run(
            [sys.executable, str(HERE / "training.py"), *options], capture_output=True, text=True
        )
        if run.returncode:
            sys.exit(run.stderr)
        rows.append(json.loads(run.stdout.splitlines()[-1]))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown."""
    lines = [
        "| update of 128 captions | authors, ms | here, ms | ratio | GFLOP | GFLOP/s | of peak |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {TITLES[row['system']]} | {row['authors']:,.0f} | {row['ours']:,.0f} "
        f"| {row['ratio']:.2f} | {row['GFLOP']:.1f} | {row['GFLOP/s']:.0f} | {row['share']:.0f} % |"
        for row in rows
    ]
    return "\n".join(lines)


def processor() -> str:
    """The processor's name and relevant features."""
    names = {}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        pairs = (line.split(":", 1) for line in cpuinfo.read_text().splitlines() if ":" in line)
        names = {key.strip(): value.strip() for key, value in pairs}
    flags = names.get("flags", "").split()
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{names.get('model name', platform.processor())} ({', '.join(known)})"


def commit() -> str:
    """The commit measured."""
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True
    )
    return run.stdout.strip() or "unknown"


def main() -> None:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    full, half = updates("fp32", options.rounds), updates("bf16", options.rounds)
    axes = []
    for axis in growth.AXES:
        print(axis, file=sys.stderr, flush=True)
        axes.append("\n".join(growth.show(axis, growth.measure(axis))))
    page = TEXT.format(
        full=table(full),
        half=table(half),
        growth="\n\n".join(axes),
        peak=f"{max(row['peak'] for row in full):.0f}",
        processor=processor(),
        torch=torch.__version__,
        commit=commit(),
        rounds=options.rounds,
    )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
