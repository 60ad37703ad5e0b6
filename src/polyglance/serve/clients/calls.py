"""The requests of a client and the parsing of answers, without connections."""

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.serve.shapes import Captions, Embeddings, Facets, Found, Health, Hit

T = TypeVar("T")
ImageFile = bytes | str | os.PathLike[str]
"""The bytes of an image file, or its path on the client."""


class ServiceError(PolyglanceError):
    """An error answer of the service; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and the parser of its answer's body."""

    method: str
    path: str
    read: Callable[[bytes], T]
    params: Mapping[str, str | list[str]] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Headers for the body: the type of an uploaded file is not declared."""
        return {} if self.content is None else {"content-type": "application/octet-stream"}


def health() -> Call[Health]:
    """Whether the service runs."""
    return Call("GET", "/v1/health", Health.model_validate_json)


def search(text: str, image: ImageFile | None, **params: object) -> Call[Found]:
    """A page of images.

    Args:
        text: a sentence, or "".
        image: that hits should be similar to.
        params: other parameters of `/v1/search`; None is left out, and `from_` is its `from`.
    """
    given = {"q": text or None, **params}
    sent = {
        name.rstrip("_"): _shown(value)
        for name, value in given.items()
        if value is not None and value is not False
    }
    read = Found.model_validate_json
    if image is None:
        return Call("GET", "/v1/search", read, sent)
    return Call("POST", "/v1/search", read, sent, content=file_bytes(image))


def image(kind: str, which: str | Hit) -> Call[bytes]:
    """The bytes of an image or its thumbnail.

    Args:
        kind: "thumbnails" or "images".
        which: a hit, or its id.
    """
    name = which.id if isinstance(which, Hit) else which
    return Call("GET", f"/v1/{kind}/{quote(name, safe='')}", bytes)


def embed_texts(texts: Sequence[str], language: str | None) -> Call[np.ndarray]:
    """Embeddings [n, D] of texts."""
    return _embed("/v1/embeddings", list(texts), language)


def embed_images(images: Sequence[ImageFile]) -> Call[np.ndarray]:
    """Embeddings [n, D] of image files."""
    encoded = [base64.b64encode(file_bytes(image)).decode() for image in images]
    return _embed("/v1/embeddings/images", encoded, None)


def captions(which: ImageFile | Hit, texts: Sequence[str], **more: object) -> Call[Captions]:
    """The texts that match an image best.

    Args:
        which: a hit, or any file, even if the service does not have it.
        texts: to compare it with.
        more: other parameters of `/v1/captions`.
    """
    body = {"captions": list(texts), **more}
    if isinstance(which, Hit):
        body["id"] = which.id
    else:
        body["image"] = base64.b64encode(file_bytes(which)).decode()
    return Call("POST", "/v1/captions", Captions.model_validate_json, json=body)


def facets() -> Call[Facets]:
    """What searches can be filtered by."""
    return Call("GET", "/v1/facets", Facets.model_validate_json)


def _embed(path: str, inputs: list[str], language: str | None) -> Call[np.ndarray]:
    body = {"input": inputs, "encoding_format": "base64", "language": language}
    return Call("POST", path, _vectors, json=body)


def _vectors(body: bytes) -> np.ndarray:
    rows = sorted(Embeddings.model_validate_json(body).data, key=lambda row: row.index)
    parts = [base64.b64decode(str(row.embedding)) for row in rows]
    return np.stack([np.frombuffer(part, "<f4") for part in parts]).astype(np.float32)


def _shown(value: object) -> str | list[str]:
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return "true" if value is True else str(value)


def file_bytes(image: ImageFile) -> bytes:
    """The bytes of a file, passed as bytes or as its path."""
    if isinstance(image, bytes):
        return image
    try:
        return Path(image).read_bytes()
    except OSError as error:
        raise PolyglanceError(f"{image}: cannot be read ({error.strerror or error})") from None


def refusal(status: int, body: bytes) -> ServiceError:
    """The exception for an error answer."""
    import json

    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the service answered with status {status}; is it a polyglance service?"
    return ServiceError(status, message)


def unreachable(address: str, error: Exception) -> PolyglanceError:
    """The error for a service that does not answer."""
    said = str(error) or type(error).__name__
    return PolyglanceError(
        f"{address}: no answer ({said}); start the service with 'polyglance serve', or use "
        "another address"
    )
