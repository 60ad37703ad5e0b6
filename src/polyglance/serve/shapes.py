"""Bodies of requests and answers, as in the OpenAPI document."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

_HIT: JsonDict = {
    "id": "5f2c9d3a7b1e40c8a6d2f0b4c8e1a937",
    "score": 3.41,
    "path": "2024/beach.jpg",
    "width": 4032,
    "height": 3024,
    "taken": "2024-05-31T18:03:20",
    "thumbnail": "/v1/thumbnails/5f2c9d3a7b1e40c8a6d2f0b4c8e1a937",
    "image": "/v1/images/5f2c9d3a7b1e40c8a6d2f0b4c8e1a937",
}


MOST_INPUTS = 2048
"""Largest number of inputs of an embedding request, as in OpenAI's API."""
Reason = Literal["empty", "filtered", "no_match", "hardly_known"]


class Hit(BaseModel):
    """An image found."""

    id: str
    score: float = Field(
        description="if the model has a background: the probability that the image matches, "
        "or, for older exports, standard deviations above the mean; else the similarity; "
        "for a combined query the standard score"
    )
    path: str = Field(description="the file's name relative to the served folder")
    width: int | None
    height: int | None
    taken: str | None = Field(None, description="by the camera's clock, as 2024-05-31T18:03:20")
    thumbnail: str
    image: str


class Found(BaseModel):
    """A page of images, best first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "hits": [_HIT],
                    "cursor": "WzAuNSwgIjVmMmMiLCAiYWIiXQ==",
                    "enough": True,
                    "notes": [],
                    "pictures": 1200,
                }
            ]
        }
    )
    hits: list[Hit]
    cursor: str | None = Field(None, description="for the next page; null on the last one")
    enough: bool | None = Field(
        None,
        description="whether any image matches; null if the model has no threshold",
    )
    message: str | None = Field(None, description="set if no image matches")
    reason: Reason | None = Field(
        None,
        description="why no image matches: there are none (`empty`), the filters leave none "
        "(`filtered`), none looks like the query (`no_match`), or, in addition, the model hardly "
        "knows its words (`hardly_known`)",
    )
    notes: list[str] = Field(description="such as words that the model does not know")
    pictures: int = Field(description="how many were searched, after filtering")


class Caption(BaseModel):
    """A text about an image."""

    language: str = Field(description='"" if unknown', examples=["de"])
    text: str = Field(examples=["Zwei Hunde im Schnee"])


class ImageInfo(BaseModel):
    """Details of an image."""

    id: str
    paths: list[str] = Field(description="names of all files with this content")
    width: int | None
    height: int | None
    taken: str | None = Field(description="by the camera's clock, as 2024-05-31T18:03:20")
    latitude: float | None
    longitude: float | None
    tags: list[str]
    captions: list[Caption]
    second: float | None = Field(description="position of a video frame")


class Count(BaseModel):
    """A value to filter by, and the number of images that have it."""

    name: str = Field(examples=["2024/beach"])
    pictures: int


class Dates(BaseModel):
    """The first and the last day, and the number of images with a date."""

    from_: str = Field(alias="from", examples=["2019-03-02"])
    to: str = Field(examples=["2024-05-31"])
    pictures: int


class Facets(BaseModel):
    """What images can be filtered by."""

    pictures: int
    folders: list[Count] = Field(
        description="by name; each includes what is below it, and images outside of any "
        "folder are in none"
    )
    tags: list[Count] = Field(description="most images first")
    caption_languages: list[Count]
    dates: Dates | None = Field(description="null if no image has a date")
    years: list[Count]
    more: bool = Field(description="whether the smallest folders or tags were left out")


class CaptionRequest(BaseModel):
    """An image, by its id or as a file, and the captions to compare it with."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"id": _HIT["id"], "captions": ["a dog in the snow", "ein Strand"]}]
        },
    )
    id: str | None = Field(None, max_length=100, description="from a search")
    image: str | None = Field(None, description="a file in Base64, or a data URL")
    captions: Annotated[list[str], Field(min_length=1, max_length=1000)]
    language: str | None = Field(
        None, max_length=20, description="of all captions; not needed by the included model"
    )
    limit: int = Field(5, ge=1, le=200, description="number of captions to return")


class CaptionHit(BaseModel):
    """A caption of the list."""

    text: str
    score: float = Field(description="as in a search")
    fits: bool | None = Field(
        description="whether the image matches; null if the model has no threshold"
    )


class Captions(BaseModel):
    """Best first."""

    captions: list[CaptionHit]
    notes: list[str] = Field(description="such as captions that were left out")


class Heat(BaseModel):
    """Which part of an image matched: the whole image in cells."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"rows": 2, "columns": 3, "cells": [[0.1, 0.4, 1.0], [0.0, 0.2, 0.7]]}]
        }
    )
    rows: int
    columns: int
    cells: list[list[float]] = Field(
        description="row by row: 1 is the part of this image that matches best, 0 the worst; "
        "not comparable between images"
    )


class Suggestion(BaseModel):
    """Another spelling."""

    suggestion: str | None = Field(examples=["an elephant"])


class Health(BaseModel):
    """That the service runs."""

    status: Literal["ok"] = "ok"
    version: str = Field(examples=["0.1.0"])


class Readiness(BaseModel):
    """Whether the service is ready for requests."""

    ready: bool
    indexed: int | None = Field(
        None, description="images indexed so far, while a folder is indexed or a library synced"
    )
    to_index: int | None = Field(None, description="their number")


class Fault(BaseModel):
    """The error."""

    message: str = Field(examples=["there is no image with this id"])


class ErrorAnswer(BaseModel):
    """Any error answer."""

    error: Fault


def _checked_input(value: object) -> object:
    """Refuse what is not a text or a list of texts with one message, not one for each type."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise PydanticCustomError("input", "must be a text, or a list of at least one")
    if any(isinstance(one, int | list) and not isinstance(one, bool) for one in value):
        raise PydanticCustomError("input", "arrays of tokens are not supported; send the texts")
    if not all(isinstance(one, str) for one in value):
        raise PydanticCustomError("input", "must be a text, or a list of texts")
    if len(value) > MOST_INPUTS:
        said = f"has {len(value):,} inputs; a request may have at most {MOST_INPUTS:,}"
        raise PydanticCustomError("input", "{said}", {"said": said})
    return value


class EmbeddingRequest(BaseModel):
    """As in OpenAI's API; for images each input is a file in Base64."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": ["a dog in the snow", "ein Hund im Schnee"]}]}
    )
    input: Annotated[
        str | Annotated[list[str], Field(min_length=1, max_length=MOST_INPUTS)],
        BeforeValidator(_checked_input),
    ]
    model: str | None = Field(None, max_length=100, description="'polyglance', or the model's id")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(
        None,
        ge=1,
        description="keep only that many dimensions, renormalised; at most the model's own, which "
        "is the default",
    )
    language: str | None = Field(None, max_length=20, description="of the texts")
    user: str | None = Field(None, max_length=1000, description="ignored")

    @property
    def inputs(self) -> list[str]:
        """The inputs as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class Embedding(BaseModel):
    """The embedding of one input."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str = Field(description="or float32, little-endian, in Base64")


class Usage(BaseModel):
    """Number of words read; 0 for images."""

    prompt_tokens: int
    total_tokens: int


class ModelEntry(BaseModel):
    """A model, as in OpenAI's API."""

    id: str = Field(examples=["polyglance"])
    object: Literal["model"] = "model"
    created: int = Field(0, description="always 0")
    owned_by: Literal["polyglance"] = "polyglance"


class ModelList(BaseModel):
    """The names that embedding requests may use, all for the same model."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]


class Embeddings(BaseModel):
    """Embeddings in the order of the inputs."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage
