"""Local folders, and remote ones through fsspec (s3://, gs://, sftp:// …)."""

import contextlib
import os
import posixpath
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from polyglance.errors import MissingPackage, PolyglanceError, needed_by
from polyglance.storage.files import atomic

WEB = ("http://", "https://")
SECONDS = 20.0
"""Timeout of a web server."""


def is_remote(place: str) -> bool:
    """Whether a place is on another machine.

    >>> is_remote("s3://bucket/a"), is_remote("/home/a"), is_remote("C:/a")
    (True, False, False)
    """
    scheme, found, _ = place.partition("://")
    return bool(found) and scheme != "file" and scheme.replace("+", "").isalnum()


def absolute(place: str | os.PathLike[str]) -> str:
    """The absolute path or URL of a place."""
    text = os.fspath(place)
    text = text.removeprefix("file://")
    return text.rstrip("/") if is_remote(text) else os.path.abspath(text)


def file_system(place: str) -> tuple[Any, str]:
    """fsspec's file system of a remote place, and the path there."""
    if "::" in place:
        raise PolyglanceError(f"{place}: '::' joins several file systems; name a single one")
    with needed_by(f"{place}, on another machine,", "library"):
        from fsspec.core import url_to_fs
    try:
        found, name = url_to_fs(place)
    except ImportError as error:
        raise PolyglanceError(f"{place}: {error}") from None
    except (ValueError, OSError) as error:
        raise PolyglanceError(f"{place}: cannot be opened ({error})") from None
    return found, name


@contextlib.contextmanager
def _errors_named(place: str) -> Iterator[None]:
    """Turn any error into a `PolyglanceError` that names the place."""
    try:
        yield
    except (PolyglanceError, MissingPackage):
        raise
    except FileNotFoundError:
        raise PolyglanceError(f"{place}: no such file or folder") from None
    except Exception as error:  # each file system raises its own
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PolyglanceError(f"{place}: cannot be read or written ({reason})") from None


class Folder:
    """A local or remote folder; file names are relative to it, with `/`.

    `write` is atomic: locally by renaming, and on object stores because an object becomes visible
    only when its upload is complete.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = absolute(place)
        self.is_remote = is_remote(self.place)
        self._system: Any = None
        self._root = ""
        if self.is_remote:
            self._system, self._root = file_system(self.place)

    def full(self, name: str) -> str:
        """The absolute path or URL of a file."""
        return f"{self.place}/{name}" if name else self.place

    def inner(self, name: str) -> str:
        """The path of a file in its file system."""
        return posixpath.join(self._root, name) if self.is_remote else self.full(name)

    @property
    def arrow(self) -> Any:
        """The file system for pyarrow; None for the local one."""
        return self._system

    def exists(self, name: str) -> bool:
        """Whether a file or folder exists."""
        with _errors_named(self.full(name)):
            if self.is_remote:
                return bool(self._system.exists(self.inner(name)))
            return os.path.exists(self.full(name))

    def names(self, name: str = "") -> list[str]:
        """Sorted names of a subfolder's entries; empty if it does not exist."""
        with _errors_named(self.full(name)):
            if not self.is_remote:
                return sorted(os.listdir(self.full(name))) if self.exists(name) else []
            self._system.invalidate_cache()
            try:
                found = self._system.ls(self.inner(name), detail=False)
            except FileNotFoundError:
                return []
        return sorted(posixpath.basename(one.rstrip("/")) for one in found)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with _errors_named(self.full(name)):
            if self.is_remote:
                return bytes(self._system.cat_file(self.inner(name)))
            return Path(self.full(name)).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically, replacing an existing one."""
        if not self.is_remote:
            with atomic(Path(self.full(name))) as handle:
                handle.write(data)
            return
        with _errors_named(self.full(name)):
            self._system.makedirs(posixpath.dirname(self.inner(name)), exist_ok=True)
            self._system.pipe_file(self.inner(name), data)


def open_stream(place: str) -> BinaryIO:
    """Open a local or remote file for reading; errors are those of the file system."""
    if place.startswith(WEB):
        return open_web(place)
    if is_remote(place):
        system, name = file_system(place)
        return system.open(name, "rb")
    return Path(place).open("rb")


def open_web(place: str) -> BinaryIO:
    """Open a URL for reading; redirects are followed only to http(s)."""
    request = urllib.request.Request(place, headers={"User-Agent": "polyglance"})
    try:
        return urllib.request.urlopen(request, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        permanent = 400 <= error.code < 500 and error.code not in (408, 429)
        kind = PermissionError if permanent else OSError
        raise kind(f"the server answers {error.code}") from None
    except urllib.error.URLError as error:
        raise OSError(f"no answer from the server ({error.reason})") from None
    except ValueError as error:  # malformed
        raise OSError(f"not an address ({error})") from None


def size_of(place: str) -> int:
    """Size of a local or remote file, in bytes."""
    with _errors_named(place):
        if not is_remote(place):
            return os.path.getsize(place)
        system, name = file_system(place)
        return int(system.size(name) or 0)
