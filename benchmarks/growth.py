"""Growth of time and memory with captions, languages, words and images.

    python benchmarks/growth.py [captions languages vocabulary gallery]

Every point is measured in a separate process: CPU seconds on one thread, and the increase of the
process's peak memory. Slopes are on logarithmic scales: 1 is proportional, 2 quadratic, 0 no
growth. Captions are generated (made_up.py), for `vsepp` with a GRU of 512 units and batches of 128.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

DIM, HIDDEN = 1280, 512
UPDATES = 7
Measured = dict[str, tuple[float, float]]
"""Operation → seconds, and increase of the peak memory in MB."""


class Stage:
    """Seconds and increase of the process's peak memory during one operation."""

    def __init__(self) -> None:
        self.seconds, self.memory = time.process_time(), _megabytes()

    def end(self) -> tuple[float, float]:
        """Since the start."""
        return time.process_time() - self.seconds, _megabytes() - self.memory


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _training(
    images: int, languages: int, per_image: int, vocabulary: int, table: int | None = None
) -> Measured:
    """Preparation of the data, from the texts and then from the cache; and an update.

    Args:
        images: number of images.
        languages: number of languages.
        per_image: captions per image and language.
        vocabulary: words of a language that captions may use.
        table: words of the model's table, if it is not built from the captions.
    """
    import torch
    from made_up import FEATURE, make_dataset
    from training import Updates

    from polyglance.recipes import load_recipe
    from polyglance.text.tokenizers.base import _tokens
    from polyglance.training.inputs.data import fresh_model, prepare

    torch.set_num_threads(1)
    sizes = {"text.encoder.hidden": HIDDEN, "joint.dim": HIDDEN, "loss.warmup_epochs": 0}
    words = {"text.tokenizer": "words", "text.embedder.min_count": 1, "image.feature": FEATURE}
    recipe = load_recipe("vsepp", sizes | words)
    start = fresh_model if table is None else partial(_with_table, table)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = make_dataset(folder, images, None, DIM, languages, per_image, vocabulary)
        stage = Stage()
        started, data = prepare(recipe, dataset, start, None, folder / "cache", False)
        found = {"data ready": stage.end()}
        _tokens.cache_clear()
        stage = Stage()
        prepare(recipe, dataset, start, None, folder / "cache", False)
        found["again, from the cache"] = stage.end()
        updates = Updates(started, data, folder / "run")
        stage, times = Stage(), []
        for _ in range(UPDATES):
            own = Stage()
            updates.update()
            times.append(own.end()[0])
        found["an update"] = statistics.median(times), stage.end()[1]
    return found


def _with_table(count: int, recipe: Any, texts: Any, dim: int) -> Any:
    """A fresh model with a table of `count` words, including those of the captions."""
    from polyglance.models import Model
    from polyglance.text.embedders.table import TableEmbedder
    from polyglance.text.embedders.vocabulary import Vocabulary
    from polyglance.training.inputs.data import InitialModel

    known = dict.fromkeys(word for words in texts.words for word in words)
    others = (f"other{number}" for number in range(count - len(known)))
    embedder = TableEmbedder(recipe, {"": Vocabulary([*known, *others])})
    return InitialModel(Model(recipe, embedder, dim, ["en"]))


def captions(count: int) -> Measured:
    """In one language, five per image."""
    return _training(count // 5, 1, 5, 8000)


def languages(count: int) -> Measured:
    """For 2,000 images with eight captions each; every language has 2,000 words of its own."""
    return _training(2000, count, 8 // count, 2000)


def vocabulary(count: int) -> Measured:
    """A table of `count` words, of which 16,000 captions use up to 2,000."""
    return _training(16_000 // 5, 1, 5, 2000, count)


def gallery(count: int) -> Measured:
    """Ranks of images with five captions each in both directions, and of one query."""
    from evaluation import peak_bytes, vectors

    from polyglance.evaluation.ranking.ranks import rank_both
    from polyglance.gallery.exact import best_first
    from polyglance.numerics.similarity import dot

    images, texts, owner = vectors(count, 5)
    stage = Stage()
    rank_both(images, texts, owner)
    seconds = stage.end()[0]
    stage = Stage()
    for text in texts[:50]:
        best_first(dot(images, text[None])[:, 0], 10)
    query = stage.end()[0] / 50
    return {
        "ranks of all, both directions": (seconds, peak_bytes(images, texts, owner) / 1e6),
        "ten best of one query": (query, 0.0),
    }


AXES: dict[str, tuple[Callable[[int], Measured], Sequence[int]]] = {
    "captions": (captions, (5_000, 10_000, 20_000, 40_000)),
    "languages": (languages, (1, 2, 4, 8)),
    "vocabulary": (vocabulary, (4_000, 16_000, 64_000, 256_000)),
    "gallery": (gallery, (1_000, 2_000, 4_000, 8_000)),
}


def measure(axis: str) -> dict[int, Measured]:
    """All points of an axis, each in a separate process."""
    found = {}
    for count in AXES[axis][1]:
        run = subprocess.run(
            [sys.executable, __file__, "--point", axis, str(count)], capture_output=True, text=True
        )
        if run.returncode:
            sys.exit(run.stderr)
        found[count] = json.loads(run.stdout.splitlines()[-1])
    return found


def slope(counts: Sequence[int], values: Sequence[float]) -> float | None:
    """On logarithmic scales, by least squares; None if a value is not positive."""
    if min(values) <= 0:
        return None
    return float(np.polyfit(np.log(counts), np.log(values), 1)[0])


def show(axis: str, found: dict[int, Measured]) -> list[str]:
    """A table in Markdown."""
    counts = list(found)
    head = " | ".join(f"{count:,}" for count in counts)
    lines = [f"| {axis} | | {head} | slope |", f"| --- | --- |{' ---: |' * (len(counts) + 1)}"]
    for what in found[counts[0]]:
        for place, unit in enumerate(("ms", "MB")):
            scale = 1 if place else 1000
            values = [scale * found[count][what][place] for count in counts]
            if place and max(values) < 8:  # negligible
                continue
            steep = slope(counts, values)
            cells = " | ".join(
                f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in values
            )
            lines.append(
                f"| {what} | {unit} | {cells} | {'–' if steep is None else f'{steep:.2f}'} |"
            )
    return lines


def main() -> None:
    """Measure the axes named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("axes", nargs="*", help="captions, languages, vocabulary, gallery")
    parser.add_argument("--point", nargs=2, help="an axis and one point of it, as JSON")
    options = parser.parse_args()
    if options.point:
        axis, count = options.point
        print(json.dumps(AXES[axis][0](int(count))))
        return
    for axis in options.axes or AXES:
        print("\n".join(show(axis, measure(axis))), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
