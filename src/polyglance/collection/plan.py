"""The plan: which parts of a collection there are, written down once, so that all agree on it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from polyglance.errors import PolyglanceError
from polyglance.storage.folders import Folder

PLAN, PARTS = "plan", "parts"
NUMBERS = 2**32
"""Images of a part at most: their numbers make ids that no other image of the collection has."""


class Damaged(PolyglanceError):
    """What follows in a tar or table cannot be read, now and at any time."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a collection that one process embeds: some files, a tar, rows of a table."""

    kind: str
    """ "files", "tar" or "table"."""
    place: str
    """The folder of the files, or the tar or table."""
    names: tuple[str, ...] = ()
    """Files, relative to the folder."""
    groups: tuple[int, int] = (0, 0)
    """Row groups of a table: the first, and the one after the last."""
    size: int = 0
    """Bytes of the tar or table when it was planned."""
    number: int = -1

    @property
    def name(self) -> str:
        """What its files in the folder of shards are called.

        >>> Part("tar", "a.tar", number=3).name
        '00000003'
        """
        return f"{self.number:08}"

    def as_json(self) -> str:
        """In one line."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))


def part_of(text: str | bytes) -> Part:
    """A part of what `Part.as_json` gave."""
    value = json.loads(text)
    return Part(**{**value, "names": tuple(value["names"]), "groups": tuple(value["groups"])})


def read_plan(folder: Folder) -> list[Part]:
    """All parts that were planned so far, by their numbers."""
    found: list[Part] = []
    for name in folder.names(PLAN):
        if name.endswith(".jsonl") and not name.startswith("."):
            try:
                found += map(part_of, folder.read(f"{PLAN}/{name}").splitlines())
            except (KeyError, TypeError, ValueError) as error:
                where = folder.full(f"{PLAN}/{name}")
                raise PolyglanceError(f"{where}: damaged ({error}); embed anew") from None
    return found


def extend_plan(folder: Folder, known: list[Part], parts: Iterable[Part]) -> list[Part]:
    """Write down further parts; they have their numbers then.

    Args:
        folder: of the shards.
        known: all that was planned before.
        parts: without numbers.
    """
    start = len(known)
    added = [replace(part, number=start + row) for row, part in enumerate(parts)]
    if added:
        lines = "".join(part.as_json() + "\n" for part in added)
        folder.write(f"{PLAN}/{start:08}.jsonl", lines.encode())
    return added


def done_parts(folder: Folder) -> set[str]:
    """Names of the parts that are done."""
    names = (name for name in folder.names(PARTS) if not name.startswith("."))
    return {name.removesuffix(".json") for name in names if name.endswith(".json")}
