"""The pictures that a search ranks: their points in the joint space."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.sets import NO_POINTS
from polyglance.vision.extract import check_images, extract, load_features
from polyglance.vision.features import Features

if TYPE_CHECKING:
    from polyglance.models import Model

Problems = list[tuple[Path, str]]
"""Pictures that could not be read, with the reason."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Readable pictures in the order of their paths, with `vectors` float32 [N, D]."""

    paths: list[Path]
    vectors: np.ndarray
    problems: Problems
    pictures: bool = True
    """Whether the paths are files; they are bare names where a dataset has features only."""

    def __len__(self) -> int:
        return len(self.paths)


def gallery_of_files(
    model: "Model",
    paths: Sequence[str | Path],
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """Encode picture files; those that cannot be read are listed in `problems`."""
    _check_points(model)
    feature = model.recipe.image.feature
    if feature.startswith("imported/"):
        raise PolyglanceError(
            f"this model was trained on '{feature}', which cannot be computed from pictures; "
            "search the dataset folder that holds these features"
        )
    files = sorted({Path(path) for path in paths}, key=Path.as_posix)
    if not files:
        raise PolyglanceError("there are no pictures to search")
    return _encode(model, files, extract(files, feature, cache, show_progress=show_progress))


def gallery_of_dataset(
    model: "Model",
    dataset: Dataset,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """Encode a dataset's photographs, from imported features where the model takes those.

    Where the dataset has no pictures, as with clips, the paths are their bare names.
    """
    _check_points(model)
    feature = model.recipe.image.feature
    if not feature.startswith("imported/"):
        check_images(dataset, feature)
        return gallery_of_files(model, dataset.paths(), cache, show_progress)
    pictures = dataset.image_folder.is_dir()
    names = dataset.paths() if pictures else [Path(photo.image) for photo in dataset.images]
    found = _encode(model, names, load_features(dataset, feature, cache))
    return replace(found, pictures=pictures)


def _check_points(model: "Model") -> None:
    if model.attends:
        raise PolyglanceError(NO_POINTS)


def _encode(model: "Model", files: list[Path], features: Features) -> Gallery:
    rows = np.flatnonzero(features.available)
    if not len(rows):
        path, reason = features.problems[0]
        raise PolyglanceError(f"no picture could be read (the first: {path}, {reason})")
    first = {files[row]: row for row in reversed(rows)}
    paths = sorted(first, key=Path.as_posix)
    vectors = model.encode_features(features, np.array([first[path] for path in paths]))
    if not np.isfinite(vectors).all():
        raise PolyglanceError("the model gave a picture a vector that is not finite; train again")
    return Gallery(paths, vectors, list(features.problems))
