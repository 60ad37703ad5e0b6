"""Fixed views of every image, as computed by the frozen stages of a network in the tower.

Stages that are not trained give the same output for the same pixels at every update. With a few
crops per image chosen beforehand they run once, and their output is kept on disk.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.core.progress import Bar
from polyglance.numerics.devices import CPU
from polyglance.storage.digest import content_digest, json_digest
from polyglance.storage.files import cache_dir
from polyglance.vision.extraction.image_files import (
    ImageFiles,
    ahead,
    load_eval_pixels,
    load_training_crop,
)
from polyglance.vision.image_network import ImageNetwork
from polyglance.vision.networks.lite import export, session

BATCH = 16
STREAM = 3000
"""Key of the random numbers for crops, distinct from those of an update."""


class Views:
    """Output of a network's first stages for V views of n images, float16 [n, V, …].

    The first views are those of evaluation, the others are random crops as in training.

    Args:
        network: whose settings have the number of views V.
        files: the images.
        seed: of the random crops.
    """

    def __init__(self, network: ImageNetwork, files: ImageFiles, seed: int) -> None:
        count = network.settings.views
        assert count is not None
        self.network, self.files, self.seed, self.count = network, files, seed, count
        self._kept: dict[int, np.ndarray] = {}

    def keep(self, boundaries: Sequence[int], show_progress: bool | None = None) -> None:
        """Compute what is not on disk yet, with the current network.

        Args:
            boundaries: numbers of first stages whose output is kept.
            show_progress: None shows a bar in a terminal if it takes long.
        """
        paths = {first: self._path(first) for first in boundaries}
        missing = [first for first, path in paths.items() if not path.is_file()]
        if missing:
            self._compute({first: paths[first] for first in missing}, show_progress)
        for first, path in paths.items():
            self._kept[first] = np.load(path, mmap_mode="r")

    def read(self, first: int, rows: np.ndarray, views: np.ndarray) -> Tensor:
        """Output of a network's first stages for one view of each image.

        Args:
            first: number of stages.
            rows: [B], the images.
            views: [B], the view of each.
        """
        kept = self._kept[first]
        found = np.stack([kept[row, view] for row, view in zip(rows, views, strict=True)])
        return torch.from_numpy(found.astype(np.float32))

    def _path(self, first: int) -> Path:
        """A path that depends on everything that determines the content."""
        stages = list(self.network.stages)[:first]
        weights = [value.cpu().numpy() for stage in stages for value in stage.state_dict().values()]
        crops = self.network.settings.model_dump(include={"smallest_crop", "flip", "squash"})
        fields = {
            "size": self.files.preprocessing.size,
            "views": self.count,
            "seed": self.seed,
            **crops,
        }
        keys = [key or "" for key in self.files.keys]
        form = self.network.form if first == len(self.network.stages) else "grid"
        name = content_digest(
            [*weights, json_digest(fields), repr(self.files.preprocessing), form, *keys]
        )
        return cache_dir(self.files.cache) / "views" / f"{name[:32]}.npy"

    def _compute(self, paths: dict[int, Path], show_progress: bool | None) -> None:
        count = len(self.files), self.count
        partial = {first: path.with_suffix(f".{os.getpid()}.part") for first, path in paths.items()}
        opened: dict[int, np.memmap] = {}
        pairs = [
            (row, view)
            for row in np.flatnonzero(self.files.available).tolist()
            for view in range(count[1])
        ]
        lowest = min(paths)
        run = self._first_stages(lowest)
        try:
            with Bar("views", len(pairs), "view", show_progress) as bar:
                for start, pixels in self._pixels(pairs):
                    below = run(self.network.standardised(pixels))
                    for first, found in self.network.at_stages(below, lowest, sorted(paths)):
                        values = found.half().cpu().numpy()
                        if first not in opened:
                            opened[first] = _open(partial[first], (*count, *values.shape[1:]))
                        for (row, view), value in zip(pairs[start:], values, strict=False):
                            opened[first][row, view] = value
                    bar.advance(len(pixels))
            for first, array in opened.items():
                array.flush()
                partial[first].replace(paths[first])
        finally:
            for path in partial.values():
                path.unlink(missing_ok=True)

    def _first_stages(self, count: int) -> Callable[[Tensor], Tensor]:
        """The stages that all views pass through; on a CPU run by onnxruntime, which is faster."""
        prefix = nn.Sequential(*list(self.network.stages)[:count]).eval()
        try:
            if self.network.pixel_mean.device.type != CPU:
                raise ImportError
            running = session(export(prefix, self.files.preprocessing.size))
        except ImportError:  # onnxruntime or onnx is not installed
            return torch.no_grad()(prefix)
        return lambda pixels: torch.from_numpy(running(pixels.numpy()))

    def _pixels(self, pairs: list[tuple[int, int]]) -> Iterator[tuple[int, Tensor]]:
        seen: list[np.ndarray] = []
        start = 0
        for pixels in ahead(pairs, lambda pair: self._view(*pair), 2 * BATCH):
            seen.append(pixels)
            if len(seen) == BATCH or start + len(seen) == len(pairs):
                yield start, torch.from_numpy(np.stack(seen)).to(self.network.pixel_mean.device)
                start, seen = start + len(seen), []

    def _view(self, row: int, view: int) -> np.ndarray:
        path, preprocessing = self.files.paths[row], self.files.preprocessing
        if view < preprocessing.part_count:
            seen = load_eval_pixels(path, preprocessing)
            return seen if preprocessing.part_count == 1 else seen[view]
        rng = np.random.default_rng([self.seed, view, STREAM, int(row)])
        return load_training_crop(path, preprocessing, self.network.settings, rng)


def _open(path: Path, shape: tuple[int, ...]) -> np.memmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    return np.lib.format.open_memmap(path, "w+", np.float16, shape)
