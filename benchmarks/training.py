"""Whole updates against those of the authors' code, interleaved in one process, at equal sizes.

    python benchmarks/training.py [--only vsepp-1024 liwe] [--rounds 9] [--precision bf16]

An update is complete: batching, forward, loss, backward, clipping, optimizer. Ours is
`Trainer`'s; the authors' is in official.py. Captions are generated (made_up.py), features random
with the dimension of the recipes' own (efficientnet-lite2), in batches of 128 captions. Times are
CPU times on one thread. GFLOP are those of our matrix products; the peak is the fastest product of
two 2,048² matrices in float32 measured between the rounds.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import official
import torch
from made_up import FEATURE, make_dataset
from timing import median_seconds
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from polyglance.numerics.devices import move
from polyglance.recipes import load_recipe
from polyglance.text.embedders.characters.embedder import CharacterEmbedder
from polyglance.training.images import prepared
from polyglance.training.inputs.data import InitialModel, TrainingData, fresh_model, prepare
from polyglance.training.samplers import samplers
from polyglance.training.steps import steps
from polyglance.training.trainer import Trainer

IMAGES, DIM = 2000, 1280
PEAK_SIZE = 2048


@dataclass(frozen=True)
class System:
    """A recipe with settings, the authors' model, and the data of both."""

    recipe: str
    model: type
    settings: dict[str, Any] = field(default_factory=dict)
    hidden: int = 1024
    vectors: int | None = None
    languages: int = 1
    loss: Callable = official.hardest
    decay: float | None = None


C2C = {"sampling.c2c": 1.0}
MAX = {"loss.warmup_epochs": 0}
SYSTEMS = {
    "vsepp-512": System(
        "vsepp", official.Vsepp, MAX | {"text.encoder.hidden": 512, "joint.dim": 512}, 512
    ),
    "vsepp-1024": System("vsepp", official.Vsepp, MAX),
    "vse-infinity": System("vse-infinity-grid", official.VseInfinity, MAX, vectors=16, decay=1e-4),
    "liwe": System("liwe", official.Liwe, vectors=9, loss=official.mixed),
    "nce": System(
        "nce",
        official.Nce,
        {"training.batch_size": 128, "image.standardise": False},
        512,
        loss=official.contrastive,
        decay=0.01,
    ),
    "kadar-c2i": System("kadar-bilingual", official.Vsepp, languages=2),
    "kadar-c2c": System("kadar-bilingual-c2c", official.Vsepp, C2C, languages=2),
}


@register_flop_formula(torch.ops.mkldnn._linear_pointwise)
def _onednn_flop(left: torch.Size, right: torch.Size, *_: Any, **__: Any) -> int:
    """FLOP of oneDNN's products, which torch's counter does not include."""
    return 2 * left[0] * left[1] * right[0]


class Updates:
    """Updates of `Trainer`, from the batch to the optimizer."""

    def __init__(self, started: InitialModel, data: TrainingData, out: Path) -> None:
        recipe = started.model.recipe
        sampler = samplers.get(recipe.sampling.kind)(recipe, data)
        self.started, self.data = started, data
        self.step = steps.get(recipe.sampling.kind)(started.model, data, sampler)
        self.trainer = Trainer(started, self.step, sampler, Any, out)  # type: ignore[arg-type]
        started.model.network.train()
        self.batches = prepared(self.step, sampler.batches(0), 0)

    def update(self) -> None:
        """Make the next update."""
        batch, read = next(self.batches)
        self.trainer._update(move(read, self.trainer.device), self.step.size(batch))

    def flop(self) -> float:
        """GFLOP of the matrix products of an update."""
        counter = FlopCounterMode(display=False)
        with counter:
            self.update()
        return counter.get_total_flops() / 1e9


def our_updates(system: System, folder: Path, precision: str) -> Updates:
    """Our updates of a system, on generated data."""
    dataset = make_dataset(folder, IMAGES, system.vectors, DIM, system.languages)
    settings = {"image.feature": FEATURE, "text.tokenizer": "words", **system.settings}
    recipe = load_recipe(system.recipe, settings | {"training.precision": precision})
    started, data = prepare(recipe, dataset, fresh_model, None, folder / "cache", False)
    return Updates(started, data, folder / "run")


def theirs(system: System, ours: Updates) -> official.Updates:
    """The authors' updates on the same captions and features."""
    data, embedder = ours.data, ours.started.model.embedder
    captions: list[Any] = [data.ids[row].tolist() for row in range(len(data))]
    if isinstance(embedder, CharacterEmbedder):
        table = embedder.tables[""]
        captions = [table.characters[ids] for ids in captions]
        model = system.model(len(table.alphabet), DIM, system.hidden)
    else:
        words = ours.started.model.network.text.words.weight.shape[0]  # type: ignore[union-attr]
        model = system.model(words, DIM, system.hidden)
    gather = official.collate
    if ours.trainer.model.recipe.augment.word_drop:
        gather = official.augmented(words)
    return official.Updates(
        model, official.Pairs(*_pairs(system, data, captions)), system.loss, system.decay, gather
    )


def _pairs(system: System, data: TrainingData, captions: list[Any]) -> tuple[list, list]:
    """Captions with features of their images, or with other captions of their image."""
    if system.settings is C2C:
        half = len(captions) // 2
        return captions[:half], captions[half:]
    found = data.features.gather(np.arange(IMAGES))  # type: ignore[union-attr]
    features = found if system.vectors is None else found[0]
    return captions, [features[image] for image in data.image]


def peak() -> Callable[[], float]:
    """GFLOP/s of the fastest available matrix product."""
    one, other = torch.randn(2, PEAK_SIZE, PEAK_SIZE).unbind()
    ways: list[Callable[[], object]] = [lambda: one @ other]
    if torch.backends.mkldnn.is_available():
        linear = torch.ops.mkldnn._linear_pointwise
        ways.append(lambda: linear(one, other, None, "none", [], ""))

    def measure() -> float:
        times = []
        for way in ways:
            started = time.process_time()
            way()
            times.append(time.process_time() - started)
        return 2 * PEAK_SIZE**3 / min(times) / 1e9

    return measure


def compare(name: str, rounds: int, precision: str) -> dict[str, float]:
    """Medians of both, in milliseconds, and derived values."""
    system = SYSTEMS[name]
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        ours = our_updates(system, Path(folder), precision)
        other = theirs(system, ours)
        measure, peaks = peak(), []
        for _ in range(2):  # in addition to the warm-up round
            ours.update(), other.update()
        flop = statistics.median(ours.flop() for _ in range(3))
        ways = {
            "ours": ours.update,
            "authors": other.update,
            "peak": lambda: peaks.append(measure()),
        }
        spent = median_seconds(ways, rounds, time.process_time)
    speed, highest = flop / spent["ours"], max(peaks)
    return {
        "ours": 1000 * spent["ours"],
        "authors": 1000 * spent["authors"],
        "ratio": spent["authors"] / spent["ours"],
        "GFLOP": flop,
        "GFLOP/s": speed,
        "peak": highest,
        "share": 100 * speed / highest,
    }


def main() -> None:
    """Compare all systems, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    head = f"{'system':14}{'ours ms':>9}{'authors ms':>12}{'ratio':>7}{'GFLOP':>8}{'GFLOP/s':>9}"
    if not options.json:
        print(f"{head}{'peak':>7}{'share':>7}   ({options.precision}, medians of {options.rounds})")
    for name in options.only:
        row = compare(name, options.rounds, options.precision)
        if options.json:
            print(json.dumps({"system": name, "precision": options.precision, **row}), flush=True)
            continue
        print(
            f"{name:14}{row['ours']:9.0f}{row['authors']:12.0f}{row['ratio']:7.2f}"
            f"{row['GFLOP']:8.1f}{row['GFLOP/s']:9.0f}{row['peak']:7.0f}{row['share']:6.0f} %",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
