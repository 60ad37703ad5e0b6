"""Metadata of the served images by column, for filters and facets."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from polyglance.data.images.read import open_image
from polyglance.errors import PolyglanceError
from polyglance.library import Library
from polyglance.library.media.exif import FileMetadata, read_metadata
from polyglance.library.record import Caption, thumbnail_key
from polyglance.library.syncing.captions import captions_of

NO_DATE = np.datetime64("NaT", "us")


class About(Protocol):
    """Metadata of one image; implemented by `exif.FileMetadata` and a library's `Record`."""

    @property
    def width(self) -> int:
        """Pixels, upright; 0 if unknown."""

    @property
    def height(self) -> int:
        """Pixels, upright; 0 if unknown."""

    @property
    def taken(self) -> datetime | None:
        """Local time of the camera."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Keywords of the file."""

    @property
    def captions(self) -> tuple[Caption, ...]:
        """Texts about it."""


@dataclass(frozen=True)
class FactTable:
    """Metadata of P images; tags and caption languages → the places that have them."""

    width: np.ndarray
    """int32 [P]; 0 if unknown."""
    height: np.ndarray
    taken: np.ndarray
    """datetime64[us] [P]; NaT if unknown."""
    tags: dict[str, np.ndarray]
    languages: dict[str, np.ndarray]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, About]], count: int) -> "FactTable":
        """From (place, facts) rows; several rows of a place are copies, whose tags are merged.

        Args:
            rows: in any order; places without a row are unknown.
            count: number of places.
        """
        sides, taken = np.zeros((2, count), np.int32), np.full(count, NO_DATE)
        tags: dict[str, set[int]] = defaultdict(set)
        languages: dict[str, set[int]] = defaultdict(set)
        for place, about in rows:
            sides[:, place] = about.width, about.height
            taken[place] = NO_DATE if about.taken is None else np.datetime64(about.taken, "us")
            for tag in about.tags:
                tags[tag].add(place)
            for caption in about.captions:
                languages[caption.language].add(place)
        return cls(sides[0], sides[1], taken, _sorted(tags), _sorted(languages))


def _sorted(found: dict[str, set[int]]) -> dict[str, np.ndarray]:
    return {name: np.array(sorted(places), np.int64) for name, places in found.items()}


def facts_of_library(library: Library, place_of: dict[str, int]) -> FactTable:
    """Metadata of a library's images.

    Args:
        library: that has them.
        place_of: the id of an image → its place; others are skipped.
    """
    found = ((place_of.get(thumbnail_key(one.id)), one) for one in library.store.records())
    return FactTable.of(((place, one) for place, one in found if place is not None), len(place_of))


def facts_of_files(paths: Sequence[Path], roots: Iterable[str]) -> FactTable:
    """Metadata of files without a library, from their headers; captions are from datasets.

    Args:
        paths: of each place.
        roots: the served folders.
    """
    captions_below.cache_clear()  # the files may have changed
    captions = captions_below(tuple(roots))

    def rows() -> Iterable[tuple[int, FileMetadata]]:
        for place, path in enumerate(paths):
            facts = read_head(path)
            own = captions.get(os.path.abspath(path), ())
            yield place, replace(facts, captions=(*own, *facts.captions))

    return FactTable.of(rows(), len(paths))


@lru_cache(2)
def captions_below(roots: tuple[str, ...]) -> dict[str, tuple[Caption, ...]]:
    """Absolute path → captions, from folders that are datasets."""
    try:
        return captions_of(roots)
    except PolyglanceError:  # a damaged captions.jsonl does not stop the service
        return {}


def read_head(path: Path) -> FileMetadata:
    """Metadata in the header of a file; sizes are 0 if it has none."""
    try:
        with path.open("rb") as handle, open_image(path, handle) as image:
            return read_metadata(image)
    except Exception:  # videos, missing files, and damaged headers
        return FileMetadata(0, 0)
