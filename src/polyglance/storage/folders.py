"""Folders on this machine, and on others through fsspec (s3://, gs://, sftp:// …)."""

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
"""How long a web server may be silent."""


def is_remote(place: str) -> bool:
    """Whether a place lies on another machine.

    >>> is_remote("s3://bucket/a"), is_remote("/home/a"), is_remote("C:/a")
    (True, False, False)
    """
    scheme, found, _ = place.partition("://")
    return bool(found) and scheme != "file" and scheme.replace("+", "").isalnum()


def absolute(place: str | os.PathLike[str]) -> str:
    """A place by its full name."""
    text = os.fspath(place)
    text = text.removeprefix("file://")
    return text.rstrip("/") if is_remote(text) else os.path.abspath(text)


def file_system(place: str) -> tuple[Any, str]:
    """fsspec's file system of a remote place, and the place's name there."""
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
def _told(place: str) -> Iterator[None]:
    """What goes wrong at a place, as a user's error that names it."""
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
    """A folder, here or on another machine; files in it are named relative to it, with `/`.

    What `write` puts there is there whole or not at all: here by renaming, on object stores
    because they show an object when all of it has come.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = absolute(place)
        self.is_remote = is_remote(self.place)
        self._system: Any = None
        self._root = ""
        if self.is_remote:
            self._system, self._root = file_system(self.place)

    def full(self, name: str) -> str:
        """The full name of a file."""
        return f"{self.place}/{name}" if name else self.place

    def inner(self, name: str) -> str:
        """The name of a file as its file system has it."""
        return posixpath.join(self._root, name) if self.is_remote else self.full(name)

    @property
    def arrow(self) -> Any:
        """The file system for pyarrow; None is this machine's."""
        return self._system

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        with _told(self.full(name)):
            if self.is_remote:
                return bool(self._system.exists(self.inner(name)))
            return os.path.exists(self.full(name))

    def names(self, name: str = "") -> list[str]:
        """What is directly in a folder below, sorted; nothing where there is no such folder."""
        with _told(self.full(name)):
            if not self.is_remote:
                return sorted(os.listdir(self.full(name))) if self.exists(name) else []
            self._system.invalidate_cache()
            try:
                found = self._system.ls(self.inner(name), detail=False)
            except FileNotFoundError:
                return []
        return sorted(posixpath.basename(one.rstrip("/")) for one in found)

    def read(self, name: str) -> bytes:
        """All of a file."""
        with _told(self.full(name)):
            if self.is_remote:
                return bytes(self._system.cat_file(self.inner(name)))
            return Path(self.full(name)).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Put a file there, in place of one that is there."""
        if not self.is_remote:
            with atomic(Path(self.full(name))) as handle:
                handle.write(data)
            return
        with _told(self.full(name)):
            self._system.makedirs(posixpath.dirname(self.inner(name)), exist_ok=True)
            self._system.pipe_file(self.inner(name), data)


def open_stream(place: str) -> BinaryIO:
    """A file here or elsewhere, open for reading; its errors are those of the file system."""
    if place.startswith(WEB):
        return open_web(place)
    if is_remote(place):
        system, name = file_system(place)
        return system.open(name, "rb")
    return Path(place).open("rb")


def open_web(place: str) -> BinaryIO:
    """What a web server answers; redirects are followed to web servers alone."""
    request = urllib.request.Request(place, headers={"User-Agent": "polyglance"})
    try:
        return urllib.request.urlopen(request, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        lasting = 400 <= error.code < 500 and error.code not in (408, 429)
        kind = PermissionError if lasting else OSError
        raise kind(f"the server answers {error.code}") from None
    except urllib.error.URLError as error:
        raise OSError(f"no answer from the server ({error.reason})") from None
    except ValueError as error:  # no address at all
        raise OSError(f"not an address ({error})") from None


def size_of(place: str) -> int:
    """Bytes of a file here or elsewhere."""
    with _told(place):
        if not is_remote(place):
            return os.path.getsize(place)
        system, name = file_system(place)
        return int(system.size(name) or 0)
