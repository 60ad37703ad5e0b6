"""Where a store in Milvus is: `milvus://HOST:PORT/COLLECTION`, or a file of milvus-lite."""

import os
import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from polyglance.errors import PolyglanceError

SCHEME, PORT, TOKEN = "milvus", 19530, "POLYGLANCE_MILVUS_TOKEN"
FILE_END = ".db"
_IN_FILE = "images"
_EXACT = "exact"
_OF_MODEL = re.compile("_[0-9a-f]{16}$")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's collection, or the one of a file.

    >>> Address.of("milvus://localhost/pictures").uri
    'http://localhost:19530'
    >>> str(Address.of("/tmp/pictures.db").beside("ab" * 32))
    'milvus:/tmp/pictures.db?collection=images_abababababababab'
    """

    collection: str
    host: str = ""
    port: int = PORT
    file: str | None = None
    exact: bool = False
    """Whether a new collection has no index: a search compares all vectors. A file's has none:
    milvus-lite's finds less where a filter leaves few."""

    @classmethod
    def of(cls, text: str) -> "Address":
        """The address that a text names; relative files are below the working directory."""
        parts = urlsplit(text) if text.startswith(f"{SCHEME}:") else None
        if parts is None:
            if not text.endswith(FILE_END):
                raise _wrong(text)
            return cls(_IN_FILE, file=os.path.abspath(text), exact=True)
        options = parse_qs(parts.query)
        if not parts.netloc:
            (name,) = options.pop("collection", [_IN_FILE])
            if options or not parts.path.endswith(FILE_END):
                raise _wrong(text)
            return cls(_checked(name, text), file=os.path.abspath(parts.path), exact=True)
        if parts.username or parts.password:
            raise PolyglanceError(f"name the password of Milvus in {TOKEN} (user:password)")
        try:
            port = parts.port or PORT
        except ValueError:
            raise _wrong(text) from None
        exact = options.pop(_EXACT, ["no"]) == ["yes"]
        if options or not parts.hostname:
            raise _wrong(text)
        return cls(_checked(parts.path[1:], text), parts.hostname, port, exact=exact)

    @property
    def uri(self) -> str:
        """As pymilvus takes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.file or f"http://{host}:{self.port}"

    @property
    def token(self) -> str:
        """What a server asks for; "" where nobody said it."""
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
        return f"{SCHEME}://{host}:{self.port}/{self.collection}{ending}"


def _checked(name: str, text: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,200}", name):
        raise _wrong(text)
    return name


def _wrong(text: str) -> PolyglanceError:
    return PolyglanceError(
        f"{text}: not the address of a store; write milvus://HOST:PORT/COLLECTION, or a file that "
        f"ends in {FILE_END} for milvus-lite"
    )
