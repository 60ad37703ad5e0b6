"""Whether bf16 reduces recall: both precisions of a recipe on the same data and seeds, on the CPU.

    OMP_NUM_THREADS=1 python benchmarks/precision.py DATA [--recipe nce] [--seeds 3] [path=value …]

Recall is that of the best evaluation on the validation split, by which training keeps weights.
Sizes are those of the studies' standard profiles, so that three seeds take minutes; a
`path=value` changes them. Each seed is trained in both precisions, one after the other.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import torch
from timing import Clock

from polyglance.data import Dataset, load_dataset
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import Result, train

PRECISIONS = ("fp32", "bf16")
SIZES = {
    "nce": ["data.languages=[en]", "training.epochs=4"],
    "vse-infinity-grid": [
        "data.languages=[en]",
        "image.feature=efficientnet-lite0/grid5",
        "text.tokenizer=words",
        "text.encoder.hidden=128",
        "joint.dim=128",
        "loss.warmup_epochs=0",
        "loss.warmup_updates=700",
        "training.updates=1400",
        "training.buckets=50",
        "training.lr=0.002",
        "training.schedule.kind=cosine",
        "training.warmup_epoch=null",
        "training.evaluate_every=200",
        "training.patience=100",
    ],
}


def best_mr(result: Result) -> float:
    """Mean mR over languages in the evaluation whose weights were kept."""
    rows = {row["update"]: row for row in result.progress.evaluations}
    return statistics.mean(rows[result.progress.best_update]["mr"].values())


def one_run(name: str, changes: list[str], dataset: Dataset) -> tuple[float, float]:
    """(mR on val, median CPU seconds per update) of a training."""
    clock = Clock()
    recipe = load_recipe(name, parse_overrides(changes))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        result = train(recipe, dataset, out, show_progress=False, callbacks=[clock], device="cpu")
    return best_mr(result), statistics.median(clock.seconds[5:])


def main() -> None:
    """Print a line per run, then means and the difference between precisions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--recipe", default="nce", choices=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("changes", nargs="*", metavar="path=value")
    options = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    dataset = load_dataset(options.data)
    found: dict[str, list[float]] = {precision: [] for precision in PRECISIONS}
    print("recipe\tprecision\tseed\tmR on val\tms an update")
    for seed in range(options.seeds):
        for precision in PRECISIONS:
            own = [f"training.seed={seed}", f"training.precision={precision}"]
            changes = [*SIZES[options.recipe], *options.changes, *own]
            mr, seconds = one_run(options.recipe, changes, dataset)
            found[precision].append(mr)
            print(
                f"{options.recipe}\t{precision}\t{seed}\t{mr:.2f}\t{1000 * seconds:.1f}",
                flush=True,
            )
    for precision, values in found.items():
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{precision}: mR {statistics.mean(values):.2f} ± {spread:.2f}")
    pairs = zip(found["fp32"], found["bf16"], strict=True)
    print(f"bf16 − fp32, seed by seed: {', '.join(f'{half - full:+.2f}' for full, half in pairs)}")


if __name__ == "__main__":
    main()
