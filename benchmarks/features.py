"""Feature extraction from files to the store, against onnxruntime on decoded tensors.

    OMP_NUM_THREADS=1 python benchmarks/features.py FOLDER [--images 64] [--rounds 3] [--torch]

Seconds are wall-clock time and CPU time of all threads; on a busy machine only the latter is
meaningful. The network runs on OMP_NUM_THREADS threads, and decoding on others.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from polyglance.data.images.read import list_images, read_image
from polyglance.storage.files import cache_dir
from polyglance.vision.extraction.extract import extract
from polyglance.vision.networks.backbones import DEFAULT, INT8, backbones
from polyglance.vision.networks.lite import LiteBackbone
from polyglance.vision.networks.preprocess import to_pixels

Times = tuple[float, float]
"""Wall-clock and CPU seconds."""


def timed(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Medians of interleaved runs; the first round is a warm-up and does not count."""
    found: dict[str, list[Times]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            wall, busy = time.perf_counter(), time.process_time()
            way()
            found[name].append((time.perf_counter() - wall, time.process_time() - busy))
    return {
        name: (
            statistics.median(t[0] for t in times[1:]),
            statistics.median(t[1] for t in times[1:]),
        )
        for name, times in found.items()
    }


def whole(paths: list[Path], name: str) -> None:
    """Files → store, with a cache that has only the network."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "backbones").symlink_to(cache_dir() / "backbones")
        extract(paths, f"{name}/global", Path(folder), show_progress=False)


def batched(network: LiteBackbone, pixels: np.ndarray, size: int) -> Callable[[], object]:
    """The network on decoded images, `size` at a time."""
    return lambda: [network(pixels[i : i + size]) for i in range(0, len(pixels), size)]


def main() -> None:
    """Print a line per stage and network, then ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backbone", default=DEFAULT, choices=backbones.list())
    parser.add_argument("--torch", action="store_true", help="also eager torch")
    options = parser.parse_args()
    name, paths = options.backbone, list_images(options.folder)[: options.images]
    lite = backbones.get(name)
    how = lite.preprocessing
    seen = [read_image(path, how.short_side) for path in paths]
    cut = [how.parts(image)[0] for image in seen]
    pixels = np.stack([to_pixels(image, how) for image in cut])
    networks = {name: LiteBackbone(lite, cache_dir())}
    if name + INT8 in backbones:
        networks[name + INT8] = LiteBackbone(backbones.get(name + INT8), cache_dir())
    if options.torch:
        networks[f"{name}, eager torch"] = LiteBackbone(lite, cache_dir(), "torch")
    ways: dict[str, Callable[[], object]] = {
        "decode": lambda: [read_image(path, how.short_side) for path in paths],
        "resize and cut": lambda: [how.parts(image)[0] for image in seen],
        "standardise": lambda: [to_pixels(image, how) for image in cut],
    }
    for label, network in networks.items():
        ways[f"{label}, decoded tensors"] = batched(network, pixels, 8)
        if "torch" not in label:
            ways[f"{label}, files to store"] = lambda label=label: whole(paths, label)
    times = timed(ways, options.rounds)
    print(f"{len(paths)} images\n{'':44} ms an image   processor ms")
    for label, (wall, busy) in times.items():
        print(f"{label:44} {1000 * wall / len(paths):11.2f} {1000 * busy / len(paths):14.2f}")
    for label in [one for one in networks if "torch" not in one]:
        tensors, files = times[f"{label}, decoded tensors"], times[f"{label}, files to store"]
        ratios = [alone / end for alone, end in zip(tensors, files, strict=True)]
        print(f"{label}: speed from files to that on tensors {ratios[0]:.2f} ({ratios[1]:.2f})")
    if name + INT8 in networks:
        slow, fast = times[f"{name}, files to store"], times[f"{name}{INT8}, files to store"]
        print(f"int8 from files: {slow[0] / fast[0]:.2f} ({slow[1] / fast[1]:.2f}) times as fast")
        vectors = [network(pixels[:16]).pooled for network in networks.values()]
        unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in vectors]
        print(f"cosine of int8 with float32: {(unit[0] * unit[1]).sum(1).mean():.4f}")


if __name__ == "__main__":
    main()
