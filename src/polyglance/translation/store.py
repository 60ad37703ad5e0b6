"""A cache of translations on disk: one SQLite file, shared by processes and safe against kills."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.storage.files import cache_dir

FILE = "translations.sqlite"
TEXTS_AT_A_TIME = 500
WAIT = 60.0
"""Seconds to wait for another process's lock."""

_TABLE = """create table if not exists translations (
    translator text, source text, target text, text text, translation text,
    primary key (translator, source, target, text)) without rowid"""


class TranslationStore:
    """Translations by the translator's identity, the two languages and the text.

    None is stored for texts that a translator could not translate.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self.path = cache_dir(cache) / FILE

    def get(
        self, translator: str, source: str, target: str, texts: Sequence[str]
    ) -> dict[str, str | None]:
        """Text → translation, for the cached texts.

        Args:
            translator: its identity.
            source: language of the texts.
            target: language of the translations.
            texts: to look up.
        """
        found: dict[str, str | None] = {}
        if not self.path.exists():
            return found
        with self._connection() as connection:
            for start in range(0, len(texts), TEXTS_AT_A_TIME):
                part = texts[start : start + TEXTS_AT_A_TIME]
                marks = ",".join("?" * len(part))
                found |= connection.execute(
                    "select text, translation from translations where translator = ? "
                    f"and source = ? and target = ? and text in ({marks})",
                    [translator, source, target, *part],
                ).fetchall()
        return found

    def put(self, translator: str, source: str, target: str, pairs: dict[str, str | None]) -> None:
        """Store translations, atomically.

        Args:
            translator: its identity.
            source: language of the texts.
            target: language of the translations.
            pairs: text → translation, or None.
        """
        rows = [(translator, source, target, *pair) for pair in pairs.items()]
        with self._connection() as connection, connection:
            connection.executemany("insert or replace into translations values (?,?,?,?,?)", rows)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT)) as connection:
                connection.execute(_TABLE)
                yield connection
        except OSError as error:
            raise PolyglanceError(f"{self.path}: cannot be written ({error.strerror})") from None
        except sqlite3.OperationalError as error:
            raise PolyglanceError(f"{self.path}: cannot be used ({error})") from None
        except sqlite3.DatabaseError as error:
            raise PolyglanceError(
                f"{self.path}: the cached translations are damaged ({error}); remove the file"
            ) from None
