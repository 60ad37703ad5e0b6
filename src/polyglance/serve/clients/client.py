"""Clients of the service, synchronous and asynchronous.

    from polyglance.serve import Client

    client = Client("http://127.0.0.1:8000")
    print(client.search("two dogs in the snow").hits[0].path)

They need httpx2 and nothing of the service: `pip install 'polyglance[client]'`.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polyglance.errors import needed_by
from polyglance.serve.clients import calls
from polyglance.serve.clients.calls import Call, ImageFile
from polyglance.serve.shapes import Captions, Facets, Found, Health, Hit

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
ADDRESS, PATIENCE = "http://127.0.0.1:8000", 60.0


class _Connection:
    """What both clients share."""

    def __init__(self, address: str = ADDRESS, token: str | None = None) -> None:
        self.address = address.rstrip("/")
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, Any] = {"headers": headers, "timeout": PATIENCE}

    def _request(self, call: Call[T]) -> dict[str, Any]:
        return {
            "method": call.method,
            "url": self.address + call.path,
            "params": dict(call.params),
            "json": call.json,
            "content": call.content,
            "headers": call.headers,
        }


def _answer(call: Call[T], response: "httpx2.Response") -> T:
    if response.status_code != 200:
        raise calls.refusal(response.status_code, response.content)
    return call.read(response.content)


class Client(_Connection):
    """A synchronous, thread-safe client.

    Args:
        address: as `polyglance serve` prints it.
        token: if the service requires one.
    """

    def __init__(self, address: str = ADDRESS, token: str | None = None) -> None:
        super().__init__(address, token)
        with needed_by("the client", "client"):
            import httpx2
        self._error = httpx2.TransportError
        self._http = httpx2.Client(**self._options)

    def _do(self, call: Call[T]) -> T:
        try:
            response = self._http.request(**self._request(call))
        except self._error as error:
            raise calls.unreachable(self.address, error) from None
        return _answer(call, response)

    def health(self) -> Health:
        """Whether the service runs."""
        return self._do(calls.health())

    def search(self, text: str = "", image: ImageFile | None = None, **more: Any) -> Found:
        """A page of images, best first.

        Args:
            text: a sentence in any language; `-word` excludes.
            image: bytes or path of a file that hits should be similar to.
            more: other parameters of `/v1/search`: `like` (an id), `limit`, `cursor`, `language`,
                `everything`, and filters (`folder`, `from_`, `to`, `tag` …).
        """
        return self._do(calls.search(text, image, **more))

    def hits(self, text: str = "", image: ImageFile | None = None, **more: Any) -> Iterator[Hit]:
        """All images that a search finds, page by page.

        Args:
            text: as for `search`.
            image: as for `search`.
            more: as for `search`, without `cursor`; `limit` is the size of a page.
        """
        cursor = None
        while True:
            page = self.search(text, image, **more, cursor=cursor)
            yield from page.hits
            cursor = page.cursor
            if cursor is None:
                return

    def thumbnail(self, which: str | Hit) -> bytes:
        """The thumbnail, WebP or JPEG, of a hit or its id."""
        return self._do(calls.image("thumbnails", which))

    def image(self, which: str | Hit) -> bytes:
        """The file of a hit or its id, or a JPEG if browsers cannot show its format."""
        return self._do(calls.image("images", which))

    def captions(self, which: ImageFile | Hit, texts: Sequence[str], **more: Any) -> Captions:
        """The texts that match an image best.

        Args:
            which: a hit, or bytes or path of any file.
            texts: to compare it with.
            more: `language` and `limit`.
        """
        return self._do(calls.captions(which, texts, **more))

    def facets(self) -> Facets:
        """Folders, tags, languages and dates that a search can be filtered by."""
        return self._do(calls.facets())

    def embed_texts(self, texts: Sequence[str], language: str | None = None) -> np.ndarray:
        """Embeddings float32 [n, D] of texts."""
        return self._do(calls.embed_texts(texts, language))

    def embed_images(self, images: Sequence[ImageFile]) -> np.ndarray:
        """Embeddings float32 [n, D] of image files, passed as bytes or paths."""
        return self._do(calls.embed_images(images))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Connection):
    """`Client` for asyncio: every method is awaited.

    Args:
        address: as `polyglance serve` prints it.
        token: if the service requires one.
    """

    def __init__(self, address: str = ADDRESS, token: str | None = None) -> None:
        super().__init__(address, token)
        with needed_by("the client", "client"):
            import httpx2
        self._error = httpx2.TransportError
        self._http = httpx2.AsyncClient(**self._options)

    async def _do(self, call: Call[T]) -> T:
        try:
            response = await self._http.request(**self._request(call))
        except self._error as error:
            raise calls.unreachable(self.address, error) from None
        return _answer(call, response)

    async def health(self) -> Health:
        """As `Client.health`."""
        return await self._do(calls.health())

    async def search(self, text: str = "", image: ImageFile | None = None, **more: Any) -> Found:
        """As `Client.search`.

        Args:
            text: a sentence in any language; `-word` excludes.
            image: bytes or path of a file that hits should be similar to.
            more: other parameters of `/v1/search`.
        """
        return await self._do(calls.search(text, image, **more))

    async def hits(
        self, text: str = "", image: ImageFile | None = None, **more: Any
    ) -> AsyncIterator[Hit]:
        """As `Client.hits`, for `async for`.

        Args:
            text: as for `search`.
            image: as for `search`.
            more: as for `search`, without `cursor`; `limit` is the size of a page.
        """
        cursor = None
        while True:
            page = await self.search(text, image, **more, cursor=cursor)
            for hit in page.hits:
                yield hit
            cursor = page.cursor
            if cursor is None:
                return

    async def thumbnail(self, which: str | Hit) -> bytes:
        """As `Client.thumbnail`."""
        return await self._do(calls.image("thumbnails", which))

    async def image(self, which: str | Hit) -> bytes:
        """As `Client.image`."""
        return await self._do(calls.image("images", which))

    async def captions(self, which: ImageFile | Hit, texts: Sequence[str], **more: Any) -> Captions:
        """As `Client.captions`.

        Args:
            which: a hit, or bytes or path of any file.
            texts: to compare it with.
            more: `language` and `limit`.
        """
        return await self._do(calls.captions(which, texts, **more))

    async def facets(self) -> Facets:
        """As `Client.facets`."""
        return await self._do(calls.facets())

    async def embed_texts(self, texts: Sequence[str], language: str | None = None) -> np.ndarray:
        """As `Client.embed_texts`."""
        return await self._do(calls.embed_texts(texts, language))

    async def embed_images(self, images: Sequence[ImageFile]) -> np.ndarray:
        """As `Client.embed_images`."""
        return await self._do(calls.embed_images(images))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
