"""The tools of the MCP server, without MCP: what an assistant may do with a user's images."""

import io
import os
from pathlib import Path

from PIL import Image
from pydantic import BaseModel, Field

from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.serve.answers import searching
from polyglance.serve.answers.searching import SearchRequest
from polyglance.serve.encoding.engine import Engine, Served
from polyglance.serve.images.collection import Collection, File
from polyglance.serve.images.decoding import decoding
from polyglance.serve.problems import Problem
from polyglance.serve.queries.filters import EVERYTHING, Where
from polyglance.serve.queries.uploads import LARGEST_BODY

LARGE = 1024
"""Longest side in pixels of an image shown large: more than assistants use."""
_QUALITY = 85


class FoundImage(BaseModel):
    """An image found."""

    id: str = Field(description="for show_picture, and for 'like' of search_pictures")
    score: float = Field(description="the higher, the better the image matches")
    file: str = Field(description="the file on this machine")
    width: int | None
    height: int | None
    taken: str | None = Field(description="date and time from the camera")


class FoundImages(BaseModel):
    """Search results, best first."""

    pictures: list[FoundImage]
    enough: bool | None = Field(
        description="whether any image matches; null if the model has no threshold"
    )
    notes: list[str] = Field(description="for example, words that the model does not know")
    searched: int = Field(description="number of images searched")


class About(BaseModel):
    """The images that are searched."""

    pictures: int
    folders: list[str]
    library: str | None = Field(description="the library's folder, if a library is searched")
    model: str = Field(description="id of the model")


class Assistant:
    """Answers for a collection; raises `PolyglanceError` if it cannot.

    The collection may be replaced while it answers.
    """

    def __init__(self, collection: Collection) -> None:
        self._now = Served(collection, Engine(collection.model))

    @property
    def now(self) -> Served:
        """The collection and engine for a new question."""
        return self._now

    def exchange(self, collection: Collection) -> None:
        """Answer for another collection from now on."""
        before = self._now
        same = before.engine.model.id == collection.model.id
        self._now = Served(collection, before.engine if same else Engine(collection.model))
        if not same:
            before.engine.retire()

    def reload_failed(self) -> None:
        """Nothing to do: the reason is in the log."""

    def search(
        self,
        query: str = "",
        like: str | None = None,
        path: str | None = None,
        limit: int = 10,
        where: Where = EVERYTHING,
        everything: bool = False,
    ) -> FoundImages:
        """Images for a sentence, for an image by its id or path, or for a combination.

        Args:
            query: a sentence; `-word` excludes.
            like: an id.
            path: of any image file, even if it is not among those searched.
            limit: largest number of results.
            where: restricts the search.
            everything: include images below the threshold.
        """
        served, given = self._now, None
        try:
            if path is not None:
                given = searching.UploadedImage.of(_file(path), served.engine.image)
            request = SearchRequest(query, like, given, everything=everything, where=where)
            found = searching.search(served, request, limit, None)
        except searching.NothingAsked:
            raise PolyglanceError(
                "there is nothing to search for; pass a sentence in 'query', or 'like'"
            ) from None
        except Problem as problem:
            raise PolyglanceError(problem.message) from None
        images = [
            FoundImage(
                id=hit.id,
                score=hit.score,
                file=_path(served.collection, hit.id),
                width=hit.width,
                height=hit.height,
                taken=hit.taken,
            )
            for hit in found.hits
        ]
        notes = found.notes if found.message is None else [found.message, *found.notes]
        return FoundImages(
            pictures=images, enough=found.enough, notes=notes, searched=found.pictures
        )

    def show(self, name: str, large: bool = False) -> File:
        """A small copy of an image, or one of at most `LARGE` pixels, without its EXIF.

        Args:
            name: the image's id.
            large: return the large copy.
        """
        collection = self._now.collection
        place = collection.place(name)
        if place is None:
            raise PolyglanceError("there is no image with this id; search for one first")
        found = _large(collection, place) if large else collection.thumbnail(place)
        if found is None:
            raise PolyglanceError("the file of this image is gone or cannot be read")
        return found

    def about(self) -> About:
        """What is searched."""
        collection = self._now.collection
        library = collection.library
        folders = collection.roots if library is None else library.settings.folders
        return About(
            pictures=len(collection),
            folders=[_text(folder) for folder in folders],
            library=None if library is None else _text(str(library.folder)),
            model=collection.model.id,
        )


def _path(collection: Collection, name: str) -> str:
    place = collection.place(name)
    return "" if place is None else _text(os.path.abspath(collection.path(place)))


def _large(collection: Collection, place: int) -> File | None:
    try:
        with decoding(collection.path(place), collection.ids[place], LARGE // 2) as image:
            image.thumbnail((LARGE, LARGE), Image.Resampling.LANCZOS)
            image.info.clear()
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=_QUALITY)
    except ImageProblem:
        return None
    return File(buffer.getvalue(), "image/jpeg")


def _file(path: str) -> bytes:
    """The bytes of a regular file that is not too large."""
    place = Path(path).expanduser()
    try:
        if not place.is_file():
            raise PolyglanceError(f"{path}: no such file")
        if place.stat().st_size > LARGEST_BODY:
            raise PolyglanceError(f"{path}: larger than {LARGEST_BODY:,} bytes")
        return place.read_bytes()
    except (OSError, ValueError) as error:
        raise PolyglanceError(f"{path}: cannot be read ({error})") from None


def _text(path: str) -> str:
    """A path as valid Unicode."""
    return os.fsencode(path).decode("utf-8", "replace")
