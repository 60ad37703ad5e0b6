"""The plan: the list of a collection's parts, written once, so that all processes agree on it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from polyglance.errors import PolyglanceError
from polyglance.storage.folders import Folder

PLAN, PARTS = "plan", "parts"
NUMBERS = 2**32
"""Largest number of images per part: indices become ids that are unique in the collection."""


class Damaged(PolyglanceError):
    """The rest of a tar or table is permanently unreadable."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a collection that one process embeds: files, a tar, or rows of a table."""

    kind: str
    """ "files", "tar" or "table"."""
    place: str
    """The folder of the files, or the tar or table."""
    names: tuple[str, ...] = ()
    """Files, relative to the folder."""
    groups: tuple[int, int] = (0, 0)
    """Row groups of a table: the first, and one past the last."""
    size: int = 0
    """Size of the tar or table when it was planned, in bytes."""
    number: int = -1

    @property
    def name(self) -> str:
        """Name of its files in the folder of shards.

        >>> Part("tar", "a.tar", number=3).name
        '00000003'
        """
        return f"{self.number:08}"

    def as_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))


def part_of(text: str | bytes) -> Part:
    """Parse what `Part.as_json` returned."""
    value = json.loads(text)
    return Part(**{**value, "names": tuple(value["names"]), "groups": tuple(value["groups"])})


def read_plan(folder: Folder) -> list[Part]:
    """All parts planned so far, by number."""
    found: list[Part] = []
    for name in folder.names(PLAN):
        if name.endswith(".jsonl") and not name.startswith("."):
            try:
                found += map(part_of, folder.read(f"{PLAN}/{name}").splitlines())
            except (KeyError, TypeError, ValueError) as error:
                where = folder.full(f"{PLAN}/{name}")
                raise PolyglanceError(
                    f"{where}: damaged ({error}); embed into a new folder"
                ) from None
    return found


def extend_plan(folder: Folder, known: list[Part], parts: Iterable[Part]) -> list[Part]:
    """Append parts to the plan and number them.

    Args:
        folder: of the shards.
        known: all parts planned before.
        parts: without numbers.
    """
    start = len(known)
    added = [replace(part, number=start + row) for row, part in enumerate(parts)]
    if added:
        lines = "".join(part.as_json() + "\n" for part in added)
        folder.write(f"{PLAN}/{start:08}.jsonl", lines.encode())
    return added


def done_parts(folder: Folder) -> set[str]:
    """Names of the finished parts."""
    names = (name for name in folder.names(PARTS) if not name.startswith("."))
    return {name.removesuffix(".json") for name in names if name.endswith(".json")}
