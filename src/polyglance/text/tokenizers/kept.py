"""Tokenised captions kept on disk: one SQLite file that many processes share.

Every row and seed of a study reads the same captions. A caption is found by its text, its language
and all that its tokens depend on: the tokenizer, the sources of this folder and the versions of
the packages that they use. What cannot be read, or whose checksum is wrong, is computed again, and
where the file cannot be written to, nothing is kept: a cache stops no training.
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
"""Captions that a kill can cost."""
WAIT = 60.0
"""Seconds to wait for another process that is writing."""
PACKAGES = ("regex", "nltk", "sacremoses", "jieba", "sudachipy", "sudachidict-small", "pypinyin")
_BETWEEN = "\x1f"
_TABLE = "create table if not exists tokens (key blob primary key, value blob) without rowid"

Text = tuple[str, str | None]
"""A text and its language."""


class KeptTokens:
    """Tokens of texts, in a file of the cache folder."""

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
            settings: all that they depend on beside the text and its language.
            texts: each with its language.
            compute: the tokens of texts that are not there, in their order.
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
        with self._forgiving(), self._open() as connection:
            for start in range(0, len(keys), AT_A_TIME):
                part = keys[start : start + AT_A_TIME]
                marks = ",".join("?" * len(part))
                asked = f"select key, value from tokens where key in ({marks})"
                for key, value in connection.execute(asked, part):
                    if (tokens := _unpacked(key, value)) is not None:
                        found[key] = tokens
        return found

    def _write(self, tokens: dict[bytes, list[str]]) -> None:
        rows = [(key, _packed(key, own)) for key, own in tokens.items() if _fits(own)]
        if not rows:
            return
        refuse_pipe(self.path)
        with self._forgiving(), self._open() as connection, connection:
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
    def _forgiving(self) -> Iterator[None]:
        """Whatever is wrong with the file ends the block and nothing else."""
        try:
            yield
        except (OSError, sqlite3.OperationalError):
            pass  # read-only, full, or locked for too long
        except sqlite3.DatabaseError:  # damaged: another is begun when something is written
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


def key_of(settings: str, text: str, language: str | None) -> bytes:
    """What a text's tokens are found by, 16 bytes."""
    # No language is "\0": a name could not be it, and JSON's null would be a text's.
    parts = (settings, "\0" if language is None else language, text)
    return short_digest((f"{len(part)}:{part}" for part in parts), 16)


@cache
def settings_of(module: str, name: str) -> str | None:
    """A digest of all that a way of reading depends on; None for ways of other packages.

    Args:
        module: where the way is defined.
        name: of the tokenizer, or of another way.
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
    """Whether what `_packed` makes of tokens can be taken apart again."""
    return not any(_BETWEEN in token or not token for token in tokens)


def _packed(key: bytes, tokens: Sequence[str]) -> bytes:
    content = _BETWEEN.join(tokens).encode("utf-8", "surrogatepass")
    return zlib.crc32(content, zlib.crc32(key)).to_bytes(4, "big") + content


def _unpacked(key: bytes, value: object) -> list[str] | None:
    """The tokens; None where the checksum is wrong."""
    if not isinstance(value, bytes) or len(value) < 4:
        return None
    content = value[4:]
    if zlib.crc32(content, zlib.crc32(key)) != int.from_bytes(value[:4], "big"):
        return None
    text = content.decode("utf-8", "surrogatepass")
    return [sys.intern(token) for token in text.split(_BETWEEN)] if text else []
