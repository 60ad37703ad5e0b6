"""Time of a text query (Chen et al. 2021, Figure 3 and supplement §1.3).

What does not depend on the text is precomputed: one embedding per image for VSE, a set of vectors
for SCAN and IMRAM, which use cross-attention. Methods are timed in turn, so that other load on
the machine affects all of them.
"""

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from polyglance.studies.experiments.base import Experiment, Measured, Settings

if TYPE_CHECKING:
    from torch import Tensor

    from polyglance.models.networks.attention import Sets

CROSS = ("scan-t2i", "imram")
METHODS = ("vse", *CROSS)
TOP = 10
HELD = 1000
"""Sets in memory: larger galleries reuse them (36 vectors × 1,024 each)."""
CELLS = 1 << 23
"""Values of an intermediate result: images are scored in blocks of 32 MiB."""
LEAST_SECONDS = 0.05

ABOUT = (
    "Milliseconds to find the ten best images for a text, without encoding text or images: VSE "
    "multiplies with a matrix, SCAN and IMRAM attend from every word to every image's vectors. "
    "Weights and vectors are random, which does not affect the times. Galleries of more than "
    f"{HELD:,} images reuse the sets of cross-attention, to limit the memory. All methods are "
    "timed in turn in one process; times and ratios to VSE are medians over rounds. Methods "
    "without a number were too slow to be measured."
)


class TimeSettings(Settings):
    """A gallery, and sizes of models."""

    gallery: int = Field(1000, ge=TOP, description="images")
    dim: int = Field(1024, ge=1)
    vectors: int = Field(36, ge=1, description="per image")
    words: int = Field(12, ge=1, description="per text")
    queries: int = Field(8, ge=1, description="texts scored together, sharing the image side")
    rounds: int = Field(3, ge=1)
    limits: dict[str, int] = Field(
        {"scan-t2i": 16_000, "imram": 2_000}, description="largest gallery to measure"
    )


def methods(settings: TimeSettings) -> list[str]:
    """The methods measured on this gallery."""
    return [m for m in METHODS if settings.gallery <= settings.limits.get(m, settings.gallery)]


def measures(settings: TimeSettings) -> list[str]:
    """ "vse ms", "vse ratio", …"""
    return [f"{method} {kind}" for method in methods(settings) for kind in ("ms", "ratio")]


def run(settings: TimeSettings) -> Measured:
    """Time every method in turn."""
    import torch

    torch.manual_seed(settings.seed)
    with torch.inference_mode():
        calls = prepare(settings)
        seconds = [
            {name: timed(call) for name, call in calls.items()} for _ in range(settings.rounds)
        ]
    values = {}
    for name in calls:
        ms = [1000 * own[name] / settings.queries for own in seconds]
        values[f"{name} ms"] = statistics.median(ms)
        values[f"{name} ratio"] = statistics.median(own[name] / own["vse"] for own in seconds)
    return Measured(values)


def prepare(settings: TimeSettings) -> dict[str, Callable[[], "Tensor"]]:
    """The functions to time, by method; each returns the best images [queries, 10]."""
    import torch
    from torch.nn.functional import normalize

    embeddings = normalize(torch.randn(settings.gallery, settings.dim), dim=1)
    texts = normalize(torch.randn(settings.queries, settings.dim), dim=1)
    calls = {"vse": lambda: (texts @ embeddings.t()).topk(TOP, dim=1).indices}
    names = [name for name in methods(settings) if name in CROSS]
    if names:
        images = random_sets(min(settings.gallery, HELD), settings.vectors, settings.dim)
        words = random_sets(settings.queries, settings.words, settings.dim)
        for name in names:
            calls[name] = _search(matching(name, settings.dim), words, images, settings.gallery)
    return calls


def matching(name: str, dim: int) -> Any:
    """The attention of a method, from words to images, with the recipes' settings."""
    from polyglance.models.networks.cross_attention import matchings
    from polyglance.recipes.schema import ImramRecipe, ScanRecipe

    kind = name.partition("-")[0]
    recipe = ScanRecipe() if kind == "scan" else ImramRecipe()
    return matchings.get(kind)(recipe, dim).eval()


def random_sets(count: int, size: int, dim: int) -> "Sets":
    """Sets of normalised random vectors [count, size, dim].

    Args:
        count: number of sets.
        size: vectors per set.
        dim: their dimension.
    """
    import torch
    from torch.nn.functional import normalize

    from polyglance.models.networks.attention import Sets

    vectors = normalize(torch.randn(count, size, dim), dim=2)
    return Sets(vectors, torch.full((count,), size))


def score_gallery(model: Any, words: "Sets", images: "Sets", gallery: int) -> "Tensor":
    """Scores [gallery, queries], block by block; image i is set i modulo those in memory.

    Args:
        model: the attention of a method.
        words: sets of the queries' vectors [queries, words, dim].
        images: sets of the images' vectors [held, vectors, dim].
        gallery: number of images.
    """
    import torch

    from polyglance.models.networks.attention import Sets

    held, queries = len(images.lengths), len(words.lengths)
    block = max(1, CELLS // (model.floats_per_pair(words, images) * queries))
    parts = []
    for begin in range(0, gallery, held):
        end = min(held, gallery - begin)
        for start in range(0, end, block):
            rows = slice(start, min(start + block, end))
            parts.append(model(words, Sets(images.vectors[rows], images.lengths[rows])))
    return torch.cat(parts)


def timed(call: Callable[[], Any]) -> float:
    """Seconds of a call, which is repeated if it is too short to be measured."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < LEAST_SECONDS:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def _search(model: Any, words: "Sets", images: "Sets", gallery: int) -> Callable[[], "Tensor"]:
    return lambda: score_gallery(model, words, images, gallery).topk(TOP, dim=0).indices.t()


EXPERIMENT = Experiment(TimeSettings, measures, run, ABOUT, alone=True)
