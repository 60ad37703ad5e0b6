"""Training from a store of the size of COCO's regions: samples per second, and memory.

    OMP_NUM_THREADS=1 python benchmarks/coco_store.py FOLDER [--updates 20] [path=value …]

FOLDER gets a dataset of 113,287 images with one caption each and 36 regions of 2,048 float16, an
apparent 16.7 GB. The file is sparse: only the images of the updates and of validation are written,
with random numbers; all others are holes, which read as zeros. Batches are in random order over
the whole file, as in any training. `--updates 0` only reads batches.

Memory is the process's own (RssAnon) and its part of the file (RssFile), which the system can
reclaim.
"""

import argparse
import json
import time
import zlib
from pathlib import Path

import numpy as np

from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import Callback, Trainer, train
from polyglance.training.inputs.data import fresh_model, prepare
from polyglance.training.samplers import samplers
from polyglance.training.steps import StepOutcome
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.store import META, FeatureStore

IMAGES, REGIONS, DIM, VALIDATION = 113_287, 36, 2048, 100
NAME = "regions"
WORDS = ("a", "the", "man", "dog", "cat", "red", "street", "two", "on", "with", "near", "tree")
SMALL = [
    f"image.feature=imported/{NAME}",
    "text.tokenizer=words",
    "text.encoder.hidden=256",
    "joint.dim=256",
    "training.evaluate_every=100000",
]


def make(folder: Path) -> None:
    """The dataset with a sparse store; an existing one is kept."""
    if (folder / "features" / NAME / META).is_file():
        return
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(WORDS), (IMAGES, 10))
    rows = [
        CaptionedImage(
            f"{number:06}.jpg",
            "val" if number < VALIDATION else "train",
            {"en": {"independent": [" ".join(WORDS[word] for word in words)]}},
        )
        for number, words in enumerate(drawn)
    ]
    save_folder(folder, rows)
    store = FeatureStore.create(folder / "features" / NAME, DIM, "set", f"imported/{NAME}")
    block = REGIONS * DIM * 2
    with (store.folder / "vectors.f16").open("r+b") as handle:
        handle.truncate(IMAGES * block)
    crc = zlib.crc32(bytes(block))
    lines = [
        {"key": row.image, "start": number * REGIONS, "count": REGIONS, "crc": crc}
        for number, row in enumerate(rows)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (store.folder / "index.jsonl").write_text(text)


def fill(folder: Path, wanted: set[int]) -> None:
    """Fill holes with random vectors for some images, with their checksums."""
    store = folder / "features" / NAME
    lines = [json.loads(line) for line in (store / "index.jsonl").read_text().splitlines()]
    hole, block = zlib.crc32(bytes(REGIONS * DIM * 2)), REGIONS * DIM * 2
    base = np.random.default_rng(1).normal(size=(REGIONS, DIM)).astype(np.float16)
    with (store / "vectors.f16").open("r+b") as handle:
        for number in sorted(wanted):
            if lines[number]["crc"] != hole:
                continue
            data = np.roll(base, number % DIM, axis=1).tobytes()
            handle.seek(number * block)
            handle.write(data)
            lines[number]["crc"] = zlib.crc32(data)
    (store / "index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def forget(path: Path) -> None:
    """Drop the file from the page cache."""
    import os

    with path.open("rb") as handle:
        os.fsync(handle.fileno())
        os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def memory() -> dict[str, float]:
    """Megabytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {name: int(found[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile", "VmHWM")}


class Clock(Callback):
    """Times of updates."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []

    def on_start(self, trainer: Trainer) -> None:
        self.marks.append((time.perf_counter(), time.process_time()))

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        self.marks.append((time.perf_counter(), time.process_time()))


def show(what: str, samples: int, started: tuple[float, float]) -> None:
    """Print rates and memory."""
    wall, busy = time.perf_counter() - started[0], time.process_time() - started[1]
    used = ", ".join(f"{name} {value:.0f} MB" for name, value in memory().items())
    print(
        f"{what}: {samples / wall:.0f} samples/s, {samples / busy:.0f} a processor second; {used}"
    )


def main() -> None:
    """Create the store, read the batches of a training from it, then train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recipe", default="vse-infinity")
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--batches", type=int, default=40, help="batches to read without training")
    parser.add_argument("changes", nargs="*", metavar="path=value")
    given = parser.parse_intermixed_args()
    make(given.folder)
    store = FeatureStore.open(given.folder / "features" / NAME)
    keys: list[str | None] = list(store.keys())
    order = np.random.default_rng(0).permutation(np.arange(VALIDATION, IMAGES))
    batches = order[: 128 * given.batches].reshape(given.batches, 128)
    fill(given.folder, set(batches.ravel().tolist()))
    forget(store.folder / "vectors.f16")
    features = Features(NAME, store, keys)
    features.lengths  # noqa: B018  (computed once)
    started = time.perf_counter(), time.process_time()
    for batch in batches:
        features.gather_set(batch)
    show(f"reading {given.batches} batches of 128 from the disk", batches.size, started)
    if given.updates:
        train_from(given.folder, given.recipe, given.updates, given.changes)


def train_from(folder: Path, name: str, updates: int, changes: list[str]) -> None:
    """Train on the images of the first updates, which are filled before."""
    import tempfile

    recipe = load_recipe(name, parse_overrides([*SMALL, f"training.updates={updates}", *changes]))
    dataset = load_dataset(folder)
    started = time.perf_counter(), time.process_time()
    _, data = prepare(recipe, dataset, fresh_model, None, None, False)
    show("captions, and the checksums of all vectors", len(data), started)
    sampler = samplers.get(recipe.sampling.kind)(recipe, data)
    batches = (batch for batch, _ in zip(sampler.batches(0), range(updates), strict=False))
    images = {int(row) for batch in batches for row in data.image[batch[0].captions]}
    fill(folder, images | set(range(VALIDATION)))
    forget(folder / "features" / NAME / "vectors.f16")
    clock = Clock()
    with tempfile.TemporaryDirectory() as out:
        train(recipe, dataset, Path(out, "run"), show_progress=False, callbacks=[clock])
    (wall, busy), first = clock.marks[-1], clock.marks[2]
    samples = recipe.training.batch_size * (len(clock.marks) - 3)
    used = ", ".join(f"{name} {value:.0f} MB" for name, value in memory().items())
    print(
        f"{name}: {samples / (wall - first[0]):.1f} samples/s, "
        f"{samples / (busy - first[1]):.1f} a processor second; {used}"
    )


if __name__ == "__main__":
    main()
