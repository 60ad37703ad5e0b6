"""Languages that no training caption is in: their recall beside that of English.

    python benchmarks/unseen_languages.py RESULTS.jsonl [--seeds 3] [--updates 400]

Run in a folder with the files of polyglance-base (docs/models/base.md). It trains the recipe twice
per seed: with all captions, and without any caption or text-only sentence of Multi30K in French,
Chinese and Czech. The first two are languages of the pretrained sentence encoder, Czech is not.
Their sentences in parallel.jsonl.gz and their names of emoji and classes remain. As in
base_parts.py, the image network stays frozen, and existing results are not trained again.
"""

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from base_parts import train_frozen

from polyglance import load_dataset
from polyglance.evaluation import evaluate

UNSEEN = ("fr", "zh", "cs")
DATA = Path("flickr8k-ml")


def without_languages(row: dict[str, Any]) -> dict[str, Any]:
    """A line of a caption file without captions in unseen languages; held-out images keep them."""
    if row.get("split", "train") != "train":
        return row
    kept = {code: kinds for code, kinds in row["captions"].items() if code not in UNSEEN}
    return {**row, "captions": kept}


def copy_without(source: Path, target: Path) -> None:
    """Copy a dataset folder without training captions and text-only tuples in unseen languages."""
    (target / "images").symlink_to((source / "images").resolve())
    for name in ("captions.jsonl.gz", "text-only.jsonl.gz"):
        with gzip.open(target / name, "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(without_languages(row)) + "\n" for row in rows(source / name))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def measure(seen: bool, seed: int, updates: int) -> dict[str, Any]:
    """mR on val by language, of a model trained with all languages or without the unseen ones."""
    with tempfile.TemporaryDirectory() as folder:
        if not seen:
            copy_without(DATA, Path(folder))
        data = DATA if seen else Path(folder)
        model = train_frozen(load_dataset(str(data)), seed, updates)
    found = evaluate(model, load_dataset(str(DATA)), "val", show_progress=False)
    languages = found.as_dict()["languages"]
    mr = {code: one["mr"] for code, one in languages.items()}
    return {"seen": seen, "seed": seed, "updates": updates, "mr": mr}


def table(results: list[dict[str, Any]]) -> str:
    """Means and standard deviations over seeds, and shares of English, as Markdown."""
    codes = ["en", *UNSEEN]
    lines = [f"| mR on val | {' | '.join(codes)} | seeds |", "| --- |" + " ---: |" * 5]
    for seen, name in ((True, "with captions"), (False, "without captions")):
        own = [one["mr"] for one in results if one["seen"] == seen]
        values = {code: np.array([one[code] for one in own]) for code in codes}
        spread = {code: f" ± {np.std(own, ddof=1):.1f}" for code, own in values.items()}
        cells = [
            f"{values[code].mean():.1f}{spread[code] if len(own) > 1 else ''}" for code in codes
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {len(own)} |")
        shares = [f"{100 * (values[code] / values['en']).mean():.0f} %" for code in codes]
        lines.append(f"| … share of English | {' | '.join(shares)} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=400)
    given = parser.parse_args()
    lines = given.results.read_text("utf-8").splitlines() if given.results.exists() else []
    results = [one for one in map(json.loads, lines) if one["updates"] == given.updates]
    there = {(one["seen"], one["seed"]) for one in results}
    for seed in range(given.seeds):
        for seen in (True, False):
            if (seen, seed) in there:
                continue
            results.append(measure(seen, seed, given.updates))
            with given.results.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(results[-1]) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
