"""The served images: a gallery with ids, sizes and thumbnails."""

import io
import os
import threading
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from polyglance.data.images.read import open_image
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.gallery import Gallery, open_gallery
from polyglance.gallery.library import library_model
from polyglance.gallery.scoring import Scorer
from polyglance.library import Library
from polyglance.library.media.thumbnails import SIDE, content_type, make_thumbnail
from polyglance.library.registered import library_of, registered
from polyglance.runtime import ExportedModel, load, model_folder
from polyglance.serve.images.decoding import decoding, is_image
from polyglance.serve.images.facts import FactTable, facts_of_files, facts_of_library, read_head
from polyglance.serve.images.names import Names

HEADS = 100_000
"""Files whose sizes and dates are cached for a folder without a library."""
THUMBNAILS = 2000
"""Thumbnails, about 15 kB each, cached for a folder without a library."""
LARGE = 1024
"""Pixels of the shorter side that suffice for a RAW file: half its resolution is quick."""
SHOWN = {"JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF"}
"""Formats that browsers can show."""


class File(NamedTuple):
    """An image file to send: its bytes and media type."""

    data: bytes
    type: str


class Brief(NamedTuple):
    """Metadata shown with a hit: size in pixels, and date and time taken."""

    width: int | None
    height: int | None
    taken: str | None


class Collection:
    """Images by id, and their scorer; thread-safe.

    Args:
        model: encodes queries.
        gallery: the images, all with files.
        roots: served folders, to which shown paths are relative.
    """

    def __init__(self, model: ExportedModel, gallery: Gallery, roots: list[str]) -> None:
        if not gallery.has_files:
            raise PolyglanceError("the dataset has features but no images to serve")
        # An index has 16 bits, and converting them would take longer than a search does.
        gallery = replace(gallery, embeddings=np.asarray(gallery.embeddings, np.float32))
        self.model, self.gallery, self.roots = model, gallery, roots
        self.library: Library | None = None
        self.scorer = Scorer(model, gallery)
        self.places = gallery.places()
        self.firsts = np.array([rows[0] for rows in self.places], np.int64)
        self.ids = [gallery.content[row] for row in self.firsts]
        self.place_of = {name: place for place, name in enumerate(self.ids)}
        self.place_of_row = np.empty(len(gallery), np.int64)
        for place, rows in enumerate(self.places):
            self.place_of_row[rows] = place
        self._reading = threading.Lock()
        # Neither refers to the collection: it is freed as soon as it is replaced.
        self._head = lru_cache(HEADS)(read_head)
        self._made = lru_cache(THUMBNAILS)(_thumbnail)

    def __len__(self) -> int:
        return len(self.places)

    def place(self, name: str) -> int | None:
        """The index of an id, if there is such an image."""
        return self.place_of.get(name)

    def path(self, place: int) -> Path:
        """The first file of an image."""
        return self.gallery.paths[self.firsts[place]]

    @cached_property
    def names(self) -> Names:
        """Names of all files, relative to the served folders."""
        return Names(self.gallery.paths, self.roots)

    @property
    def facts(self) -> FactTable:
        """Metadata of all images; loaded when first needed, which is slow without a library."""
        with self._reading:
            return self._facts

    @cached_property
    def _facts(self) -> FactTable:
        if self.library is not None:
            return facts_of_library(self.library, self.place_of)
        return facts_of_files([self.path(place) for place in range(len(self))], self.roots)

    def brief(self, place: int) -> Brief:
        """Metadata of an image; all None if its file is gone and no library has it."""
        if self.library is None:
            head = self._head(self.path(place))
            moment = None if head.taken is None else head.taken.isoformat()
            return Brief(head.width or None, head.height or None, moment)
        facts = self.facts
        width, height, taken = (x[place] for x in (facts.width, facts.height, facts.taken))
        day = None if np.isnat(taken) else str(taken.astype("datetime64[s]"))
        return Brief(int(width) or None, int(height) or None, day)

    def emptied(self) -> "Collection":
        """The collection of the same library after all its images are gone."""
        found = Collection(self.model, _no_images(self.model), self.roots)
        found.library = self.library
        return found

    def vector(self, place: int) -> np.ndarray:
        """The embedding [D] of an image."""
        return np.asarray(self.gallery.embeddings[self.firsts[place]], np.float32)

    def thumbnail(self, place: int) -> File | None:
        """A thumbnail; None if the file is gone or unreadable."""
        kept = None if self.library is None else self.library.thumbnails.get(self.ids[place])
        try:
            data = self._made(self.path(place), self.ids[place]) if kept is None else kept
        except ImageProblem:
            return None
        return File(data, content_type(data))

    def image(self, place: int) -> File | None:
        """The file, or a JPEG if browsers cannot show its format; None if it is gone.

        Of a RAW file or a video that cannot be decoded any more, the thumbnail.
        """
        path = self.path(place)
        try:
            kind = self._format(path) if is_image(path) else ""
            if kind in SHOWN:
                return File(path.read_bytes(), f"image/{kind.lower()}")
            with decoding(path, self.ids[place], None if kind else LARGE) as image:
                return File(_as_jpeg(image), "image/jpeg")
        except (ImageProblem, OSError):
            return self.thumbnail(place) if path.exists() and not is_image(path) else None

    def _format(self, path: Path) -> str:
        with path.open("rb") as handle, open_image(path, handle) as image:
            kind = str(image.format)
        return "JPEG" if kind == "MPO" else kind


def _thumbnail(path: Path, name: str) -> bytes:
    with decoding(path, name, SIDE // 2) as image:
        return make_thumbnail(image)


def _as_jpeg(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def open_collection(
    place: str | Path | None = None,
    model: str | Path | ExportedModel | None = None,
    cache: Path | None = None,
    show_progress: bool | None = None,
    empty: bool = False,
) -> Collection:
    """The images of a library or a folder, which is indexed first.

    Args:
        place: of a library or a folder of images; None is the most recently created library.
        model: an exported model or its folder; None is the library's, or the included one.
        cache: location of indexes; the XDG cache by default.
        show_progress: of the indexing; None shows a bar in a terminal.
        empty: also open a library without images, to which some may be added.
    """
    folder = served_place(place)
    check_place(folder)
    loaded = _model(folder, model)
    library = _library(folder)
    if empty and library is not None and library.store.count() == 0:
        gallery = _no_images(loaded)
    else:
        gallery = open_gallery(loaded, folder, cache, show_progress)
    roots = [os.path.abspath(folder)]
    if library is not None:
        roots += [one for one in library.settings.folders if one not in roots]
    found = Collection(loaded, gallery, roots)
    found.library = library
    return found


def served_place(place: str | Path | None) -> Path:
    """The library or folder to serve; None is the most recently created library."""
    return _last_library() if place is None else Path(place)


def _no_images(model: ExportedModel) -> Gallery:
    return Gallery([], np.empty((0, model.dim), np.float32), [], unit=True)


def check_place(folder: Path) -> None:
    """Raise if a folder does not exist."""
    if not folder.is_dir():
        raise PolyglanceError(f"{folder}: no such folder; pass a library or a folder of images")


def _model(folder: Path, model: str | Path | ExportedModel | None) -> ExportedModel:
    if isinstance(model, ExportedModel):
        return model
    own = library_model(folder) if model is None else None
    return own or load(model_folder(model))


def _library(folder: Path) -> Library | None:
    """The library that has the thumbnails; None if the folder has none."""
    kept = library_of(folder)
    try:
        return None if kept is None else Library.open(kept)
    except PolyglanceError:  # without LanceDB the folder's own index is used
        return None


def _last_library() -> Path:
    known = [Path(one) for one in registered() if os.path.isdir(one)]
    if not known:
        raise PolyglanceError("there is no library yet; pass a folder of images to serve")
    return known[-1]
