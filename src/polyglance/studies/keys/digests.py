"""Digests of large files, cached until a file changes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import content_digest, file_chunks, json_digest
from polyglance.storage.files import cache_dir, read_json, refuse_pipe, write_json
from polyglance.text.lexicon import lexicon_files

SHOWN = 256 << 20
"""Size in bytes from which reading a file shows progress."""


class Digests:
    """SHA-256 of files, cached by path, size and time: word vectors take gigabytes."""

    def __init__(self, cache: Path | None = None) -> None:
        self.folder = cache_dir(cache) / "digests"
        self._known: dict[tuple[str, int, int], str] = {}

    def of_file(self, path: Path) -> str:
        """Digest of a file's content, 32 hexadecimal digits."""
        refuse_pipe(path)
        try:
            path = path.resolve()
            state = path.stat()
            key = str(path), state.st_size, state.st_mtime_ns
            if key not in self._known:
                self._known[key] = self._kept(key) or self._computed(path, key)
        except OSError as error:
            raise PolyglanceError(f"{path}: cannot be read: {error.strerror}") from None
        return self._known[key]

    def of_files(self, paths: Sequence[Path], folder: Path) -> str:
        """Digest of files with their names in a folder; for a single file, of its content only."""
        if list(paths) == [folder]:
            return self.of_file(folder)
        lines = (f"{p.relative_to(folder).as_posix()} {self.of_file(p)}\n" for p in paths)
        return content_digest(lines)[:32]

    def of_lexicon(self, path: Path) -> str:
        """Digest of a lexicon: a file, or a folder of dictionaries."""
        return self.of_files(lexicon_files(path), path)

    def _kept(self, key: Sequence[str | int]) -> str | None:
        try:
            value = read_json(self._file(key))
        except PolyglanceError:
            return None
        known = isinstance(value, dict) and value.get("file") == list(key)
        return str(value["digest"]) if known else None

    def _computed(self, path: Path, key: Sequence[str | int]) -> str:
        size = int(key[1])
        with Bar(f"reading {path.name}", max(1, size >> 20), "MiB", size >= SHOWN) as bar:

            def counted() -> Iterable[bytes]:
                for chunk in file_chunks(path):
                    bar.advance(1)
                    yield chunk

            found = content_digest(counted())[:32]
        if size >= SHOWN:
            write_json(self._file(key), {"file": list(key), "digest": found})
        return found

    def _file(self, key: Sequence[str | int]) -> Path:
        return self.folder / f"{json_digest(key[0])[:24]}.json"
