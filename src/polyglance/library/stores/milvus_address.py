"""Address of a store in Milvus: `milvus://HOST:PORT/COLLECTION`, or a file of milvus-lite.

`milvus+tls://` in place of `milvus://` encrypts the connection.
"""

import os
import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from polyglance.errors import PolyglanceError

SCHEME, TLS, PORT, TOKEN = "milvus", "milvus+tls", 19530, "POLYGLANCE_MILVUS_TOKEN"
FILE_END = ".db"
_IN_FILE = "images"
_EXACT = "exact"
_OF_MODEL = re.compile("_[0-9a-f]{16}$")


@dataclass(frozen=True, slots=True)
class Address:
    """A collection on a server or in a file.

    >>> Address.of("milvus://localhost/pictures").uri
    'http://localhost:19530'
    >>> Address.of("milvus+tls://example.org:443/pictures").uri
    'https://example.org:443'
    >>> str(Address.of("/tmp/pictures.db").beside("ab" * 32))
    'milvus:/tmp/pictures.db?collection=images_abababababababab'
    """

    collection: str
    host: str = ""
    port: int = PORT
    file: str | None = None
    exact: bool = False
    """Whether a new collection has no index, so that a search compares all vectors. True for files:
    milvus-lite's index misses results if a filter matches few images."""
    tls: bool = False
    """Whether the connection to the server is encrypted, and its certificate checked."""

    @classmethod
    def of(cls, text: str) -> "Address":
        """Parse an address; relative files start at the working directory."""
        named = text.startswith((f"{SCHEME}:", f"{TLS}:"))
        parts = urlsplit(text) if named else None
        if parts is None:
            if not text.endswith(FILE_END):
                raise _wrong(text)
            return cls(_IN_FILE, file=os.path.abspath(text), exact=True)
        options = parse_qs(parts.query)
        if not parts.netloc and parts.scheme == SCHEME:
            (name,) = options.pop("collection", [_IN_FILE])
            if options or not parts.path.endswith(FILE_END):
                raise _wrong(text)
            return cls(_checked(name, text), file=os.path.abspath(parts.path), exact=True)
        if parts.username or parts.password:
            raise PolyglanceError(f"put the password of Milvus into {TOKEN} (user:password)")
        try:
            port = parts.port or PORT
        except ValueError:
            raise _wrong(text) from None
        exact = options.pop(_EXACT, ["no"]) == ["yes"]
        if options or not parts.hostname:
            raise _wrong(text)
        name, tls = _checked(parts.path[1:], text), parts.scheme == TLS
        return cls(name, parts.hostname, port, exact=exact, tls=tls)

    @property
    def uri(self) -> str:
        """As pymilvus expects it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.file or f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    @property
    def token(self) -> str:
        """The server's access token; "" if none is set."""
        return "" if self.file else os.environ.get(TOKEN, "")

    def beside(self, model: str) -> "Address":
        """The address for the embeddings of another model."""
        name = _OF_MODEL.sub("", self.collection)
        return replace(self, collection=f"{name}_{model[:16]}")

    def __str__(self) -> str:
        if self.file is not None:
            return f"{SCHEME}:{self.file}?collection={self.collection}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        ending = f"?{_EXACT}=yes" if self.exact else ""
        scheme = TLS if self.tls else SCHEME
        return f"{scheme}://{host}:{self.port}/{self.collection}{ending}"


def _checked(name: str, text: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,200}", name):
        raise _wrong(text)
    return name


def _wrong(text: str) -> PolyglanceError:
    return PolyglanceError(
        f"{text}: not the address of a store; use milvus://HOST:PORT/COLLECTION "
        f"({TLS}:// with TLS), or a file that ends in {FILE_END} for milvus-lite"
    )
