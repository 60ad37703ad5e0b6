"""Ablation of polyglance-base: trainings without one part at a time.

    python benchmarks/base_parts.py RESULTS.jsonl [--seeds 3] [--updates 400]

Run in a folder with the files of the recipe (docs/models/base.md). The image network stays
frozen, so that a training takes minutes. Every result is a line of the file, and existing ones are
not trained again: restart it after an interruption, or with more seeds. Prints the mean mR on val
and the share of emoji names on val whose image is among the first ten.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from polyglance import Model, load_dataset, load_recipe, train
from polyglance.data import Dataset
from polyglance.evaluation import evaluate
from polyglance.evaluation.names import evaluate_names

NAMED = [
    "en",
    "ar",
    "cs",
    "de",
    "es",
    "fr",
    "hi",
    "it",
    "ja",
    "ko",
    "nl",
    "pl",
    "pt",
    "ru",
    "th",
    "tr",
    "uk",
    "zh",
]
PARTS: dict[str, dict[str, Any]] = {
    "all of it": {},
    "without text pairs": {"sampling.text_only": False, "sampling.text_files": []},
    "without captions against each other": {"sampling.c2c_weight": 0},
    "without pictures of emoji": {"sampling.beside": None},
    "without names of classes": {"naming": None},
    "without class vectors": {"naming": None, "image.head": {"kind": "linear"}},
    "without hashed subwords": {
        "text.embedder.buckets": 0,
        "text.word_dropout": 0.0,
        "text.encoder.subword_drop": 0.0,
    },
    "without more captions": {"data.more": []},
    "sentence encoder frozen": {"text.encoder.train": "none"},
}


def train_frozen(
    dataset: Dataset, seed: int, updates: int, changes: dict[str, Any] | None = None
) -> Model:
    """Train polyglance-base with a frozen image network.

    Args:
        dataset: flickr8k-ml, or a part of it.
        seed: of the training.
        updates: after which it ends.
        changes: fields of the recipe and their values.
    """
    changes = {
        "image.backbone": None,
        "training.updates": updates,
        "training.evaluate_every": updates,
        "training.seed": seed,
        **(changes or {}),
    }
    with tempfile.TemporaryDirectory() as folder:
        train(load_recipe("polyglance-base", changes), dataset, Path(folder, "run"))
        return Model.load(Path(folder, "run"))


def measure(part: str, seed: int, updates: int) -> dict[str, Any]:
    """Train without a part and evaluate on val."""
    dataset = load_dataset("flickr8k-ml")
    model = train_frozen(dataset, seed, updates, PARTS[part])
    found = evaluate(model, dataset, "val", show_progress=False)
    names = evaluate_names(model, load_dataset("emoji"), languages=NAMED, show_progress=False)
    return {
        "part": part,
        "seed": seed,
        "updates": updates,
        "mr": float(np.mean([one["mr"] for one in found.as_dict()["languages"].values()])),
        "names": {code: one.found for code, one in names.languages.items()},
    }


def table(results: list[dict[str, Any]], updates: int) -> str:
    """Means and standard deviations over seeds, as Markdown."""
    lines = ["| | mR | names, English | names, mean of 18 | seeds |", "| --- |" + " ---: |" * 4]
    for part in PARTS:
        own = [one for one in results if (one["part"], one["updates"]) == (part, updates)]
        if not own:
            continue
        columns = (
            [one["mr"] for one in own],
            [one["names"]["en"] for one in own],
            [float(np.mean(list(one["names"].values()))) for one in own],
        )
        cells = [f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" for values in columns]
        if len(own) == 1:
            cells = [f"{values[0]:.1f}" for values in columns]
        lines.append(f"| {part} | {' | '.join(cells)} | {len(own)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=400)
    given = parser.parse_args()
    lines = given.results.read_text("utf-8").splitlines() if given.results.exists() else []
    results = [json.loads(line) for line in lines]
    there = {(one["part"], one["seed"], one["updates"]) for one in results}
    for seed in range(given.seeds):
        for part in PARTS:
            if (part, seed, given.updates) in there:
                continue
            results.append(measure(part, seed, given.updates))
            with given.results.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(results[-1]) + "\n")
            print(f"{part}, seed {seed}: mR {results[-1]['mr']:.1f}", flush=True)
    print(table(results, given.updates))


if __name__ == "__main__":
    main()
