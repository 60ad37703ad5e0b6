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
    """Which pictures to search; all conditions must hold."""

    model_config = ConfigDict(extra="forbid")

    folder: Name | None = Field(
        None, description="in it or below it, as /v1/facets names it", examples=["2024/beach"]
    )
    from_: Date | None = Field(
        None,
        alias="from",
        description="taken then or later: a day, month or year; pictures without a date are left "
        "out",
        examples=["2024-05-31"],
    )
    to: Date | None = Field(None, description="taken then or earlier", examples=["2024"])
    min_width: int | None = Field(None, ge=1, le=_SIDE, description="pixels, upright")
    min_height: int | None = Field(None, ge=1, le=_SIDE, description="pixels, upright")
    tag: list[Name] = Field([], max_length=20, description="a keyword; several must all be there")
    caption_language: str | None = Field(
        None, max_length=20, description="pictures with a caption in it", examples=["de"]
    )

    @property
    def where(self) -> Where:
        """As a filter for a collection."""
        tags = tuple(sorted({checked(tag) for tag in self.tag}))
        folder = None if self.folder is None else checked_name(self.folder)
        sides = self.min_width, self.min_height
        return Where(folder or None, self.from_, self.to, *sides, tags, self.caption_language)


class SearchParameters(Filters):
    """The query, and which pictures to search."""

    q: str = Field(
        "",
        max_length=LONGEST,
        description='a sentence in any language; -word and -"some words" are not wanted',
        examples=["a beach -people"],
    )
    like: str | None = Field(
        None, max_length=100, description="the id of a picture that hits should be like"
    )
    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE, description="pictures per page")
    cursor: str | None = Field(None, max_length=LONGEST_CURSOR, description="of the last page")
    language: str | None = Field(
        None, max_length=20, description="of the sentence; not needed by the included model"
    )
    everything: bool = Field(False, description="also return pictures that do not match")


def checked_name(text: str) -> str:
    """A folder name without leading and trailing slashes."""
    return text.strip("/")
