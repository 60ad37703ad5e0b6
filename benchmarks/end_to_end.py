"""The cost of training the image network: images per second of one core, update by update.

    OMP_NUM_THREADS=1 python benchmarks/end_to_end.py DATA [RECIPE] [path=value …]

Images of a batch are decoded, encoded, and trained on; the CPU time of all threads is counted, so
the rate does not depend on the machine's load.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median

import torch
from timing import Clock

from polyglance.data import load_dataset
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import train

UPDATES = 8
SMALL = [
    f"training.updates={UPDATES}",
    f"training.evaluate_every={UPDATES}",
    "training.batch_size=64",
    "data.languages=[en]",
    "data.validation_images=64",
    "image.standardise=false",
    "image.backbone.frozen_epochs=0",
]


def main() -> None:
    """Print a line per way to train."""
    torch.set_num_threads(1)
    data = Path(sys.argv[1])
    named = sys.argv[2:3] if len(sys.argv) > 2 and "=" not in sys.argv[2] else ["nce-e2e"]
    given = [one for one in sys.argv[2:] if "=" in one]
    dataset = load_dataset(data)
    print("trained\tms an image\timages/s")
    for trained in ("none", "last", "all"):
        changes = parse_overrides([*SMALL, *given, f"image.backbone.train={trained}"])
        clock = Clock()
        with tempfile.TemporaryDirectory() as folder:
            # With train=none, frozen_epochs does nothing.
            recipe = load_recipe(named[0], changes, shared=True)
            train(recipe, dataset, Path(folder, "run"), show_progress=False, callbacks=[clock])
        # The first updates include one-off work and batches decoded ahead.
        seconds = median(clock.each[2:])
        print(f"{trained}\t{1000 * seconds:.1f}\t{1 / seconds:.1f}")


if __name__ == "__main__":
    main()
