"""Mean recall by gallery size: what to expect with more images than a split has.

    python benchmarks/gallery_size.py [MODEL] [--data DATA]

Recall@K falls as a gallery grows, so figures for a split of 500 images say little about 1,000.
Evaluates the validation and test images separately and together. The default MODEL is the included
one.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from polyglance.data import Dataset, load_dataset
from polyglance.evaluation import evaluate
from polyglance.runtime import open_model

SHARED = Path(__file__).parents[2] / "shared" / "data"
SPLITS = ("val", "test")
BOTH = "val + test"


def joined(dataset: Dataset) -> Dataset:
    """The dataset with validation and test images combined as an additional split."""
    held_out = [one for one in dataset.images if one.split in SPLITS]
    return replace(
        dataset, images=[*dataset.images, *(replace(one, split=BOTH) for one in held_out)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    given = parser.parse_args()
    model, dataset = open_model(given.model), joined(load_dataset(given.data))
    codes = dataset.split(SPLITS[0]).languages
    print(f"| mR | images | {' | '.join(codes)} | mean |")
    print(f"| --- | ---: |{' ---: |' * (len(codes) + 1)}")
    for split in (*SPLITS, BOTH):
        report = evaluate(model, dataset, split, bootstrap=0, show_progress=False)
        found = {one.language: one.metrics.mr for one in report.results}
        cells = [f"{found[code]:.1f}" for code in codes]
        mean = np.mean([found[code] for code in codes])
        print(f"| {split} | {len(dataset.split(split))} | {' | '.join(cells)} | {mean:.1f} |")


if __name__ == "__main__":
    main()
