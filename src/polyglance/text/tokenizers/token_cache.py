"""A cache of tokenized captions on disk: one SQLite file, shared by processes.

Every row and seed of a study reads the same captions. The key is the text, its language and
everything the tokens depend on: the tokenizer, the sources of this folder and the versions of the
packages used. Unreadable or corrupt entries are recomputed, and if the file cannot be written,
nothing is cached: problems with the cache never stop a training.
"""

import contextlib
import sqlite3
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from polyglance.storage.digest import content_digest, file_chunks, json_digest, short_digest
from polyglance.storage.files import cache_dir, refuse_pipe

FILE = "tokens.sqlite"
AT_A_TIME = 500
WRITTEN_AT_A_TIME = 20_000
"""Most captions that are lost if the process is killed."""
WAIT = 60.0
"""Seconds to wait for another process's lock."""
PACKAGES = ("regex", "nltk", "sacremoses", "jieba", "sudachipy", "sudachidict-small", "pypinyin")
_SEPARATOR = "\x1f"
_TABLE = "create table if not exists tokens (key blob primary key, value blob) without rowid"

Text = tuple[str, str | None]
"""A text and its language."""


class TokenCache:
    """Cached tokens of texts, in a file in the cache folder."""

    def __init__(self, cache: Path | None = None) -> None:
        self.path = cache_dir(cache) / FILE

    def get(
        self,
        settings: str,
        texts: Sequence[Text],
        compute: Callable[[Iterable[Text]], Iterable[Sequence[str]]],
    ) -> list[list[str]]:
        """Tokens of every text.

        Args:
            settings: digest of everything else that tokens depend on.
            texts: each with its language.
            compute: tokens of texts that are not cached, in order.
        """
        keys = [key_of(settings, *text) for text in texts]
        found = self._read(list(dict.fromkeys(keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        fresh: dict[bytes, list[str]] = {}
        for key, tokens in zip(missing, compute(missing.values()), strict=True):
            found[key] = fresh[key] = list(tokens)
            if len(fresh) >= WRITTEN_AT_A_TIME:
                self._write(fresh)
                fresh = {}
        self._write(fresh)
        return [list(found[key]) for key in keys]

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, list[str]]:
        found: dict[bytes, list[str]] = {}
        refuse_pipe(self.path)
        if not self.path.exists():
            return found
        with self._ignore_errors(), self._open() as connection:
            for start in range(0, len(keys), AT_A_TIME):
                part = keys[start : start + AT_A_TIME]
                marks = ",".join("?" * len(part))
                query = f"select key, value from tokens where key in ({marks})"
                for key, value in connection.execute(query, part):
                    if (tokens := _unpacked(key, value)) is not None:
                        found[key] = tokens
        return found

    def _write(self, tokens: dict[bytes, list[str]]) -> None:
        rows = [(key, _packed(key, own)) for key, own in tokens.items() if _fits(own)]
        if not rows:
            return
        refuse_pipe(self.path)
        with self._ignore_errors(), self._open() as connection, connection:
            connection.executemany("insert or replace into tokens values (?, ?)", rows)

    def _open(self) -> contextlib.closing[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=WAIT)
        try:
            connection.execute(_TABLE)
        except sqlite3.Error:
            connection.close()
            raise
        return contextlib.closing(connection)

    @contextlib.contextmanager
    def _ignore_errors(self) -> Iterator[None]:
        """Ignore any problem with the file."""
        try:
            yield
        except (OSError, sqlite3.OperationalError):
            pass  # read-only, full, or locked for too long
        except sqlite3.DatabaseError:  # damaged: the next write creates a new one
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


def key_of(settings: str, text: str, language: str | None) -> bytes:
    """Key of a text's tokens, 16 bytes.

    Args:
        settings: digest of everything else that tokens depend on.
        text: to split into tokens.
        language: of the text; None if unknown.
    """
    # "\0" stands for no language: it cannot be a language's name.
    parts = (settings, "\0" if language is None else language, text)
    return short_digest((f"{len(part)}:{part}" for part in parts), 16)


@cache
def cache_settings(module: str, name: str) -> str | None:
    """Digest of everything tokens depend on; None for tokenizers of other packages.

    Args:
        module: where the tokenizer is defined.
        name: of the tokenizer, or of another operation.
    """
    if module.rpartition(".")[0] != __name__.rpartition(".")[0]:
        return None
    sources = sorted(Path(__file__).parent.glob("*.py"))
    sources.append(Path(__file__).parents[2] / "core" / "languages.py")
    code = content_digest(chunk for path in sources for chunk in file_chunks(path))
    versions = {package: _version(package) for package in PACKAGES}
    return json_digest([name, code, versions, unicodedata.unidata_version])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _fits(tokens: Sequence[str]) -> bool:
    """Whether `_unpacked` can restore the tokens."""
    return not any(_SEPARATOR in token or not token for token in tokens)


def _packed(key: bytes, tokens: Sequence[str]) -> bytes:
    content = _SEPARATOR.join(tokens).encode("utf-8", "surrogatepass")
    return zlib.crc32(content, zlib.crc32(key)).to_bytes(4, "big") + content


def _unpacked(key: bytes, value: object) -> list[str] | None:
    """The tokens, or None if the checksum is wrong."""
    if not isinstance(value, bytes) or len(value) < 4:
        return None
    content = value[4:]
    if zlib.crc32(content, zlib.crc32(key)) != int.from_bytes(value[:4], "big"):
        return None
    text = content.decode("utf-8", "surrogatepass")
    return [sys.intern(token) for token in text.split(_SEPARATOR)] if text else []
