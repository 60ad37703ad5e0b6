"""The gallery of whatever can be searched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.data.images.read import EXTENSIONS, list_images
from polyglance.data.load import load_dataset, named_place
from polyglance.errors import PolyglanceError
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.index import indexed_files, indexed_folder
from polyglance.gallery.library import library_gallery
from polyglance.numerics.sets import NO_SINGLE_VECTOR
from polyglance.runtime import ExportedModel
from polyglance.vision.extraction.extract import check_images, load_features
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles

if TYPE_CHECKING:
    from polyglance.models import Model

Images = Gallery | Dataset | str | Path | Sequence[str | Path]
"""A gallery, a dataset, the place of one or of a folder of images, or files."""


def open_gallery(
    model: "Model | ExportedModel",
    images: Images,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """The gallery of anything that can be searched.

    Args:
        model: what encodes the images.
        images: a gallery, which is left as it is; a dataset; files; or a place: a dataset's, a
            library's, or that of a folder, of which all images are taken.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
    """
    if isinstance(images, Gallery):
        return images
    if isinstance(images, Dataset):
        return gallery_of_dataset(model, images, cache, show_progress)
    if not isinstance(images, str | Path):
        return gallery_of_files(model, images, cache, show_progress)
    folder = named_place(images)
    check_place(folder)
    captioned = any((folder / f"captions.jsonl{end}").is_file() for end in ("", ".gz"))
    if not folder.is_dir() or captioned:
        return gallery_of_dataset(model, load_dataset(images, cache), cache, show_progress)
    if isinstance(model, ExportedModel):
        kept = library_gallery(model, folder, cache, show_progress)
        return kept or indexed_folder(model, folder, cache, show_progress)
    closed: list[tuple[Path, str]] = []
    paths = list_images(folder, closed)
    if not paths:
        hint = f" ({closed[0][0]}: {closed[0][1]})" if closed else ""
        raise PolyglanceError(f"{folder}: there are no images in this folder{hint}")
    found = gallery_of_files(model, paths, cache, show_progress)
    return replace(found, unreadable=[*closed, *found.unreadable])


def check_place(place: Path) -> None:
    """Raise where an image is named in place of what is searched."""
    if place.suffix.lower() in EXTENSIONS and place.is_file():
        raise PolyglanceError(
            f"{place}: is an image; name the folder to search before it, as in "
            "'polyglance search FOLDER IMAGE'"
        )


def gallery_of_files(
    model: "Model | ExportedModel",
    paths: Sequence[str | Path],
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """Encode image files; those that cannot be read are listed in `unreadable`.

    Args:
        model: encodes the images.
        paths: of the files, in any order.
        cache: folder for features; the XDG cache by default.
        show_progress: whether to show a progress bar; None is on a terminal.
    """
    if model.attends:
        raise PolyglanceError(NO_SINGLE_VECTOR)
    feature = model.recipe.image.feature
    if feature.startswith("imported/"):
        raise PolyglanceError(
            f"this model was trained on '{feature}', which cannot be computed from images; "
            "search the dataset folder that holds these features"
        )
    files = sorted({Path(path) for path in paths}, key=Path.as_posix)
    if not files:
        raise PolyglanceError("there are no images to search")
    if isinstance(model, ExportedModel):
        return indexed_files(model, files, cache, show_progress)
    return _encode(model, files, model.read_files(files, cache, show_progress), show_progress)


def gallery_of_dataset(
    model: "Model | ExportedModel",
    dataset: Dataset,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """Encode a dataset's images, from imported features where the model takes those.

    Args:
        model: encodes the images.
        dataset: where it has no image files, as with clips, the gallery's paths are bare names.
        cache: folder for features; the XDG cache by default.
        show_progress: whether to show a progress bar; None is on a terminal.
    """
    if model.attends:
        raise PolyglanceError(NO_SINGLE_VECTOR)
    feature = model.recipe.image.feature
    if not feature.startswith("imported/"):
        check_images(dataset, feature)
        return gallery_of_files(model, dataset.paths(), cache, show_progress)
    has_files = dataset.image_folder.is_dir()
    names = dataset.paths() if has_files else [Path(entry.image) for entry in dataset.images]
    found = _encode(model, names, load_features(dataset, feature, cache))
    return replace(found, has_files=has_files)


def _encode(
    model: "Model | ExportedModel",
    files: list[Path],
    features: Features | ImageFiles,
    show_progress: bool | None = False,
) -> Gallery:
    rows = np.flatnonzero(features.available)
    if not len(rows):
        path, reason = features.problems[0]
        raise PolyglanceError(f"no image could be read (the first: {path}, {reason})")
    first = {files[row]: row for row in reversed(rows)}
    paths = sorted(first, key=Path.as_posix)
    chosen = np.array([first[path] for path in paths])
    if isinstance(model, ExportedModel):
        assert isinstance(features, Features)
        embeddings = model.encode_stored(features, chosen)
    else:
        embeddings = model.encode_features(features, chosen, show_progress=show_progress)
    if not np.isfinite(embeddings).all():
        raise PolyglanceError("the model gave an image a vector that is not finite; train again")
    content = [str(features.keys[row]) for row in chosen]
    return Gallery(paths, embeddings, list(features.problems), content=content)
