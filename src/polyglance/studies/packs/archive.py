"""The zip archive of a pack: written reproducibly, read with limits, as it may be untrusted."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from polyglance.errors import PolyglanceError
from polyglance.storage.files import refuse_pipe

ABOUT = "pack.json"
RUN_NAME = re.compile(r"runs/([0-9a-f]{24})\.json")
PART_NAME = re.compile(r"parts/[0-9a-f]{24}\.(?:u1|u2|u4|json)")
MAX_MEMBER, MAX_ALL = 64 << 20, 4 << 30
"""Largest uncompressed size in bytes of a member and of all."""
MAX_MEMBERS = 500_000
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)


class Reader:
    """The members of a pack; nothing is extracted to disk, and no name is used as a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_pipe(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise PolyglanceError(f"{path}: no such pack of runs") from None
        except OSError as error:
            raise PolyglanceError(f"{path}: cannot be read ({error.strerror or error})") from None
        except _DAMAGE as error:
            raise self.damaged(f"not a zip file: {error}") from None
        self._members = {info.filename: info for info in self._checked()}

    @property
    def keys(self) -> list[str]:
        """Keys of the runs in it."""
        found = (RUN_NAME.fullmatch(name) for name in self._members)
        return [match[1] for match in found if match is not None]

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        if name not in self._members:
            raise self.damaged(f"it has no {name}")
        try:
            with self._zip.open(self._members[name]) as member:
                return member.read(MAX_MEMBER)
        except (OSError, *_DAMAGE) as error:
            raise self.damaged(f"{name}: {error}") from None

    def close(self) -> None:
        self._zip.close()

    def damaged(self, why: str) -> PolyglanceError:
        """The error for a file that `--pack` did not write."""
        return PolyglanceError(
            f"{self.path}: a damaged pack of runs ({why}); write it again with --pack"
        )

    def _checked(self) -> Iterator[zipfile.ZipInfo]:
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS or sum(one.file_size for one in members) > MAX_ALL:
            raise self.damaged(f"more than {MAX_MEMBERS:,} members or {MAX_ALL >> 30} GiB")
        if len({one.filename for one in members}) < len(members):
            raise self.damaged("a member occurs twice")
        for one in members:
            name = one.filename
            if name != ABOUT and not RUN_NAME.fullmatch(name) and not PART_NAME.fullmatch(name):
                raise self.damaged(f"it has a member {ascii(name)[:80]}, not part of a pack")
            if one.file_size > MAX_MEMBER:
                raise self.damaged(f"{name} has more than {MAX_MEMBER >> 20} MiB")
            if one.compress_type not in _PLAIN or one.flag_bits & 1:
                raise self.damaged(f"{name} is encrypted, or compressed with another method")
            yield one


class Writer:
    """Members of a new pack, without timestamps, each once."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(handle, "w")
        self._names: set[str] = set()

    def put(self, name: str, content: bytes) -> None:
        """Add a member unless it exists."""
        if name in self._names:
            return
        self._names.add(name)
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, content, zipfile.ZIP_DEFLATED, 9)

    def close(self) -> None:
        self._zip.close()
