"""Query parameters of a search."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from polyglance.serve.queries.cursors import LONGEST as LONGEST_CURSOR
from polyglance.serve.queries.filters import Where
from polyglance.serve.queries.texts import LONGEST, checked

PAGE, LARGEST_PAGE = 20, 200
_DATE = r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$"
_SIDE = 1_000_000

Date = Annotated[str, Field(pattern=_DATE)]
Name = Annotated[str, Field(max_length=LONGEST)]


class Filters(BaseModel):
    """Which images to search; all conditions must hold."""

    model_config = ConfigDict(extra="forbid")

    folder: Name | None = Field(
        None,
        description="this folder and those below it, as named by /v1/facets",
        examples=["2024/beach"],
    )
    from_: Date | None = Field(
        None,
        alias="from",
        description="taken on this date or later: a day, month or year; images without a date are "
        "excluded",
        examples=["2024-05-31"],
    )
    to: Date | None = Field(None, description="taken on this date or earlier", examples=["2024"])
    min_width: int | None = Field(None, ge=1, le=_SIDE, description="in pixels")
    min_height: int | None = Field(None, ge=1, le=_SIDE, description="in pixels")
    tag: list[Name] = Field(
        [], max_length=20, description="keywords; an image must have all of them"
    )
    caption_language: str | None = Field(
        None, max_length=20, description="images with a caption in this language", examples=["de"]
    )

    @property
    def where(self) -> Where:
        """As a filter for a collection."""
        tags = tuple(sorted({checked(tag) for tag in self.tag}))
        folder = None if self.folder is None else checked_name(self.folder)
        sides = self.min_width, self.min_height
        return Where(folder or None, self.from_, self.to, *sides, tags, self.caption_language)


class SearchParameters(Filters):
    """The query, and which images to search."""

    q: str = Field(
        "",
        max_length=LONGEST,
        description='a sentence in any language; -word and -"some words" are excluded',
        examples=["a beach -people"],
    )
    like: str | None = Field(
        None, max_length=100, description="the id of an image; similar images are found"
    )
    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE, description="images per page")
    cursor: str | None = Field(None, max_length=LONGEST_CURSOR, description="of the previous page")
    language: str | None = Field(
        None,
        max_length=20,
        description="language of the sentence; not needed by the included model",
    )
    everything: bool = Field(False, description="also return images that do not match")


def checked_name(text: str) -> str:
    """A folder name without leading and trailing slashes."""
    return text.strip("/")
