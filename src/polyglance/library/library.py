"""A library: a folder with a store of images and their embeddings, and thumbnails."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.media.embedding import check_encoder
from polyglance.library.media.thumbnails import Thumbnails
from polyglance.library.record import Record
from polyglance.library.settings import (
    Settings,
    changed,
    is_library,
    read_settings,
    write_settings,
)
from polyglance.library.stores.named import create_store, full_address, open_store, store_name
from polyglance.library.stores.protocol import Found, Store, check_model

if TYPE_CHECKING:
    from polyglance.data.images.inputs import GivenImage

THUMBNAILS = "thumbnails.sqlite"


class Match(NamedTuple):
    """An image found by a search, and the other files with the same content."""

    record: Record
    score: float
    copies: tuple[Record, ...] = ()


class Library:
    """Images of folders, searched by texts and images; `sync` keeps it up to date.

    `Library.open("pictures.library").search("two dogs in the snow")[0].record.path`
    """

    def __init__(self, folder: Path, model: Any = None) -> None:
        self.folder = folder
        self.settings = read_settings(folder)
        self.store, self.thumbnails = _open(folder, self.settings)
        if model is not None:
            check_model(self.settings.model, *model.ids)
            self.model = model

    @classmethod
    def create(cls, folder: str | Path, model: Any = None, address: str | None = None) -> "Library":
        """Create an empty library.

        Args:
            folder: must be new or empty.
            model: an exported model, or its folder; by default the included one.
            address: of a store elsewhere, `milvus://HOST:PORT/COLLECTION` (`milvus+tls://` with
                TLS) or a file that ends in `.db`; None is LanceDB in the folder.
        """
        place = _new_place(folder)
        loaded, home = load_encoder(model)
        place.mkdir(parents=True, exist_ok=True)
        store = store_name(loaded.id)
        outside = "" if address is None else full_address(address)
        create_store(place, store, outside, loaded.id, loaded.dim).close()
        write_settings(place, Settings(loaded.id, home, loaded.dim, store, address=outside))
        return cls(place, loaded)

    @classmethod
    def of_shards(cls, folder: str | Path, shards: str | Path, model: Any = None) -> "Library":
        """Create a library from the output of `polyglance embed`, which stays in place.

        Args:
            folder: must be new or empty.
            shards: folder of the shards, local or remote.
            model: the exported model that embedded the shards, or its folder, if it has moved
                since.
        """
        from polyglance.library.shards import read_mark
        from polyglance.storage.folders import Folder

        place = _new_place(folder)
        own = Folder(shards)
        mark = read_mark(own)
        loaded, home = load_encoder(model or mark.model_folder or None)
        check_model(mark.model, *loaded.ids)
        place.mkdir(parents=True, exist_ok=True)
        name = store_name(mark.model)
        write_settings(place, Settings(mark.model, home, loaded.dim, name, shards=own.place))
        return cls(place, loaded)

    @classmethod
    def open(cls, folder: str | Path, model: Any = None) -> "Library":
        """Open an existing library.

        Args:
            folder: of the library.
            model: an exported model, or its folder, if it has moved since; it must be the
                library's.
        """
        place = Path(os.path.abspath(folder))
        if model is None:
            return cls(place)
        loaded, home = load_encoder(model)
        found = cls(place, loaded)
        if home not in ("", found.settings.model_folder):
            with suppress(PolyglanceError):  # a read-only library cannot remember it
                found.change(model_folder=home)
        return found

    @cached_property
    def model(self) -> Any:
        """The exported model, loaded when first needed."""
        from polyglance.runtime import load, shipped

        place = Path(self.settings.model_folder or shipped())
        if not place.is_dir():
            raise PolyglanceError(
                f"{place}: the library's model no longer exists; pass the folder that it was moved "
                "to with --model, or embed the library again with 'polyglance library "
                f"reembed {self.folder} --model MODEL'"
            )
        found = load(place)
        check_model(self.settings.model, *found.ids)
        return found

    def reopen(self) -> None:
        """Reload what other processes have written since."""
        self.thumbnails.close()
        self.store, self.thumbnails = _open(self.folder, self.settings)

    def refresh(self) -> None:
        """Reload settings that other processes have changed, and what they refer to."""
        before, self.settings = self.settings, read_settings(self.folder)
        if (before.store, before.address) != (self.settings.store, self.settings.address):
            self.reopen()
        if before.model != self.settings.model:
            self.__dict__.pop("model", None)  # the new one is loaded when it is needed

    def change(self, **changes: Any) -> None:
        """Change fields of the settings."""
        self.settings = changed(self.folder, **changes)

    def encode(self, query: "str | np.ndarray | GivenImage", language: str | None = None) -> Any:
        """The embedding [D] of a query: a text, a vector [D], or an image in any form."""
        if isinstance(query, np.ndarray) and query.ndim == 1:
            return query
        if isinstance(query, str):
            return self.model.encode_text(query, language, show_progress=False)[0]
        return self.model.encode_images(query, show_progress=False)[0]

    def search(
        self,
        query: "str | np.ndarray | GivenImage",
        top: int = 10,
        where: Filter = EVERYTHING,
        language: str | None = None,
    ) -> list[Match]:
        """The images closest to a query, best first; files of equal content are one match.

        Args:
            query: a sentence, an image (a `Path`, bytes, a Pillow image, an array [H, W, 3]), or an
                embedding [D].
            top: largest number of results.
            where: restricts the search.
            language: of a sentence.
        """
        vector = self.encode(query, language)
        wanted = top
        while True:
            found = self.store.search(vector, wanted, self.settings.model, where)
            matches = _grouped(found)
            if len(matches) > top or len(found) < wanted:
                return matches[:top]
            wanted = 2 * wanted + 8

    def thumbnail(self, name: str) -> bytes | None:
        """The thumbnail of an image's id, WebP or JPEG."""
        found = self.store.records([name])
        return self.thumbnails.get(found[0].thumbnail) if found else None

    def close(self) -> None:
        """Close its files and connections."""
        self.thumbnails.close()
        self.store.close()


def _new_place(folder: str | Path) -> Path:
    place = Path(os.path.abspath(folder))
    if is_library(place):
        raise PolyglanceError(f"{place}: a library already exists; add to it, or sync it")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise PolyglanceError(f"{place}: must be a new or an empty folder")
    return place


def _open(folder: Path, settings: Settings) -> tuple[Store, Thumbnails]:
    """The store and the thumbnails of a library."""
    if not settings.shards:
        store = open_store(folder, settings.store, settings.address)
        return store, Thumbnails(folder / THUMBNAILS)
    from polyglance.library.stores.shards import ShardStore, ShardThumbnails

    shards = ShardStore(settings.shards, folder / settings.store)
    return shards, ShardThumbnails(shards)


def check_changeable(library: "Library") -> None:
    """Raise for a library of shards, which is read-only."""
    if library.settings.shards:
        raise PolyglanceError(
            f"{library.folder}: consists of the shards in {library.settings.shards}; change their "
            "source and run 'polyglance embed' again, then 'polyglance library sync'"
        )


def _grouped(found: Sequence[Found]) -> list[Match]:
    """One match per content; for a video, its best frame."""
    groups: dict[str, list[Found]] = {}
    for hit in found:
        groups.setdefault(hit.record.content, []).append(hit)
    matches = []
    for first, *others in groups.values():
        second = first.record.second
        copies = (hit.record for hit in others if hit.record.second == second)
        matches.append(Match(first.record, first.score, tuple(copies)))
    return matches


def load_encoder(model: Any) -> tuple[Any, str]:
    """A model that a library can use, passed as such or as its folder, and that folder.

    None is the included model, whose folder is "".
    """
    from polyglance.core.shipped import PLACE
    from polyglance.runtime import load, model_folder

    found = load(model_folder(model)) if model is None or isinstance(model, str | Path) else model
    check_encoder(found)
    home = os.path.abspath(getattr(found, "folder", "") or PLACE)
    return found, "" if home == os.path.abspath(PLACE) else home
