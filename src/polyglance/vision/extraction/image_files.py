"""Image files for a network in the tower: decoded ahead of it, with random crops in training."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from polyglance.core.progress import Bar
from polyglance.data.images.read import content_key, reading
from polyglance.errors import ImageProblem
from polyglance.recipes.schema import BackboneRecipe
from polyglance.vision.extraction.store import Form
from polyglance.vision.networks.preprocess import Preprocessing

SMALL = 32
"""Side length in pixels at which a file is decoded to check it."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class ImageFiles:
    """n image files, which take the place of `Features`.

    Args:
        name: of the feature that the network in the tower computes from them.
        paths: of the files.
        preprocessing: preprocessing of the network.
        dim: dimension of a vector.
        vectors: number of vectors per image; None for a global feature.
        problems: files that cannot be decoded, and why.
        cache: folder for the output of frozen stages on fixed views.
    """

    name: str
    paths: list[Path]
    preprocessing: Preprocessing
    dim: int
    vectors: int | None
    problems: list[tuple[Path, str]] = field(default_factory=list)
    cache: Path | None = None

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def form(self) -> Form:
        """ "global" or "set"."""
        return "global" if self.vectors is None else "set"

    @cached_property
    def available(self) -> np.ndarray:
        """Which images can be decoded, [n] bool."""
        bad = {path for path, _ in self.problems}
        return np.array([path not in bad for path in self.paths], bool)

    @cached_property
    def keys(self) -> list[str | None]:
        """A digest of each file's bytes; None for one that cannot be decoded."""
        known = zip(self.paths, self.available, strict=True)
        return [content_key(path) if good else None for path, good in known]

    @property
    def lengths(self) -> np.ndarray:
        """Vectors per image, [n] int64; 0 for an image that cannot be decoded."""
        return np.where(self.available, self.vectors or 1, 0).astype(np.int64)

    def sample(self, row: int) -> str:
        """A value that identifies the image, for a digest."""
        return content_key(self.paths[row])

    def batches(self, rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
        """The network's input for the images at `rows`, [size, …] at a time."""
        seen: list[np.ndarray] = []
        paths = [self.paths[row] for row in rows]
        for pixels in ahead(
            paths, lambda path: load_eval_pixels(path, self.preprocessing), 2 * size
        ):
            seen.append(pixels)
            if len(seen) == size:
                yield np.stack(seen)
                seen = []
        if seen:
            yield np.stack(seen)


def load_eval_pixels(path: Path, preprocessing: Preprocessing) -> np.ndarray:
    """The network's input in evaluation, uint8 [V, S, S, 3], or [S, S, 3] for a single part."""
    with reading(path, preprocessing.short_side) as image:
        found = np.stack([np.asarray(part, np.uint8) for part in preprocessing.parts(image)])
    return found[0] if preprocessing.part_count == 1 else found


def load_training_crop(
    path: Path, preprocessing: Preprocessing, settings: BackboneRecipe, rng: np.random.Generator
) -> np.ndarray:
    """The network's input in training, uint8 [S, S, 3]: a random crop, perhaps mirrored.

    With `squash` the crop takes the same share of both sides (VSE∞'s code), else it is square.

    Args:
        path: the file.
        preprocessing: preprocessing of the network.
        settings: of the crops.
        rng: random generator.
    """
    with reading(path, round(preprocessing.size / settings.smallest_crop)) as image:
        box = crop_box(image.size, settings, rng)
        seen = image.resize(
            (preprocessing.size, preprocessing.size),
            Image.Resampling[preprocessing.interpolation.upper()],
            box=box,
        )
    if settings.flip and rng.random() < 0.5:
        seen = seen.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(seen, np.uint8)


def crop_box(
    size: tuple[int, int], settings: BackboneRecipe, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a random crop.

    Args:
        size: width and height of the image.
        settings: of the crops.
        rng: random generator.
    """
    share = rng.uniform(settings.smallest_crop, 1.0)
    width, height = size if settings.squash else (min(size), min(size))
    width, height = max(1, round(width * share)), max(1, round(height * share))
    free = size[0] - width, size[1] - height
    left, top = (int(rng.integers(most + 1)) for most in free)
    return left, top, left + width, top + height


def check_files(
    paths: Sequence[Path], show_progress: bool | None = None, skip_unreadable: bool = True
) -> list[tuple[Path, str]]:
    """Files that cannot be decoded, and why.

    Args:
        paths: the files.
        show_progress: None shows a bar in a terminal if it takes long.
        skip_unreadable: list them; otherwise the first one raises an error.
    """
    found: list[tuple[Path, str]] = []
    files = list(dict.fromkeys(paths))
    with Bar("reading", len(files), "img", show_progress) as bar:
        for path, problem in zip(files, ahead(files, _problem, 64), strict=True):
            if problem is not None:
                if not skip_unreadable:
                    raise problem
                found.append((path, problem.reason))
            bar.advance()
    return found


def _problem(path: Path) -> ImageProblem | None:
    try:
        with reading(path, SMALL):
            return None
    except ImageProblem as problem:
        return problem


def ahead(items: Iterable[T], work: Callable[[T], R], most: int) -> Iterator[R]:
    """Results of `work` on items, in order; threads work on at most `most` items ahead.

    Args:
        items: to work on.
        work: the function.
        most: largest number of results that wait.
    """
    pool = ThreadPoolExecutor(workers())
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def workers() -> int:
    """Number of threads that decode images."""
    return min(8, max(2, os.cpu_count() or 2))
