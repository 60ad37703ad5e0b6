"""Opens the gallery of anything that can be searched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.data.images.read import EXTENSIONS, list_images, open_image
from polyglance.data.load import TABLES, load_dataset, source_path
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.gallery.gallery import Gallery, none_readable
from polyglance.gallery.index import indexed_files, indexed_folder
from polyglance.gallery.library import LibraryImages, library_images
from polyglance.numerics.sets import NO_SINGLE_VECTOR
from polyglance.runtime import ExportedModel
from polyglance.vision.extraction.extract import check_images, load_features
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles

if TYPE_CHECKING:
    from polyglance.models import Model

Images = Gallery | Dataset | str | Path | Sequence[str | Path]
"""A gallery, a dataset, the path of a dataset or a folder of images, or files."""


def open_gallery(
    model: "Model | ExportedModel",
    images: Images,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery:
    """The gallery of anything that can be searched.

    Args:
        model: encodes the images.
        images: a gallery, returned unchanged; a dataset; files; or the path of a dataset, a
            library, or a folder, of which all images are used.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress in a terminal only.
    """
    found = open_images(model, images, cache, show_progress)
    return found.gallery() if isinstance(found, LibraryImages) else found


def open_images(
    model: "Model | ExportedModel",
    images: Images,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> Gallery | LibraryImages:
    """As `open_gallery`, except that the embeddings of a library are not loaded yet.

    Args:
        model: encodes the images.
        images: as in `open_gallery`.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows progress in a terminal only.
    """
    if isinstance(images, Gallery):
        return images
    if isinstance(images, Dataset):
        return gallery_of_dataset(model, images, cache, show_progress)
    if not isinstance(images, str | Path):
        return gallery_of_files(model, images, cache, show_progress)
    folder = source_path(images)
    check_place(folder)
    captioned = any((folder / f"captions.jsonl{end}").is_file() for end in ("", ".gz"))
    if not folder.is_dir() or captioned:
        return gallery_of_dataset(model, load_dataset(images, cache), cache, show_progress)
    if isinstance(model, ExportedModel):
        kept = library_images(model, folder, show_progress)
        return kept or indexed_folder(model, folder, cache, show_progress)
    closed: list[tuple[Path, str]] = []
    paths = list_images(folder, closed)
    if not paths:
        hint = f" ({closed[0][0]}: {closed[0][1]})" if closed else ""
        raise PolyglanceError(f"{folder}: there are no images in this folder{hint}")
    found = gallery_of_files(model, paths, cache, show_progress)
    return replace(found, unreadable=[*closed, *found.unreadable])


def check_place(place: Path) -> None:
    """Raise if an image is passed instead of a folder to search."""
    if not place.is_file():
        if place.suffix.lower() in EXTENSIONS and not place.exists():
            raise PolyglanceError(f"{place}: no such image; name a folder of images to search")
        if not place.exists() and not _names_data(place):
            raise PolyglanceError(
                f"{place}: no such folder; pass a folder of images, a library, or a dataset"
            )
        return
    if place.suffix.lower() in EXTENSIONS or _is_image(place):
        raise PolyglanceError(
            f"{place}: is an image, not a folder to search; search '{place.parent}', "
            f"find similar images with 'polyglance search FOLDER --like {place}', or find captions "
            f"for it with 'polyglance search {place} --captions FILE'"
        )


def _names_data(place: Path) -> bool:
    """Whether a path names generated data, or would be a table of captions."""
    return str(place).partition(":")[0] == "generated" or place.suffix.lower() in TABLES


def _is_image(path: Path) -> bool:
    """Whether a file is an image, whatever its name."""
    try:
        with path.open("rb") as handle, open_image(path, handle):
            return True
    except (ImageProblem, OSError):
        return False


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
        show_progress: None shows a progress bar in a terminal.
    """
    if model.attends:
        raise PolyglanceError(NO_SINGLE_VECTOR)
    feature = model.recipe.image.feature
    if feature.startswith("imported/"):
        raise PolyglanceError(
            f"this model was trained on '{feature}', which cannot be computed from images; "
            "search the dataset folder that contains these features"
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
    """Encode a dataset's images, from imported features if the model uses them.

    Args:
        model: encodes the images.
        dataset: if it has no image files, as with clips, the gallery's paths are bare names.
        cache: folder for features; the XDG cache by default.
        show_progress: None shows a progress bar in a terminal.
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
        raise none_readable(features.problems)
    first = {files[row]: row for row in reversed(rows)}
    paths = sorted(first, key=Path.as_posix)
    chosen = np.array([first[path] for path in paths])
    if isinstance(model, ExportedModel):
        assert isinstance(features, Features)
        embeddings = model.encode_stored(features, chosen)
    else:
        embeddings = model.encode_features(features, chosen, show_progress=show_progress)
    if not np.isfinite(embeddings).all():
        raise PolyglanceError("the model's embedding of an image is not finite; train again")
    content = [str(features.keys[row]) for row in chosen]
    return Gallery(paths, embeddings, list(features.problems), content=content)
