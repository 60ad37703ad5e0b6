"""Filters of requests."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyglance.serve.problems import Problem

if TYPE_CHECKING:
    from polyglance.serve.images.collection import Collection


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions that must all hold; without any, all images match."""

    folder: str | None = None
    """A folder name relative to what is served; only compared with known names, never opened."""
    since: str | None = None
    until: str | None = None
    """Days, months or years, both inclusive. Images without a date do not match."""
    min_width: int | None = None
    min_height: int | None = None
    tags: tuple[str, ...] = ()
    """Tags that the image must all have."""
    language: str | None = None
    """Language of at least one caption."""

    @property
    def tag(self) -> str | None:
        """Identifies the conditions; None without any."""
        return None if self == EVERYTHING else repr(asdict(self))

    def rows(self, collection: "Collection") -> np.ndarray | None:
        """Which files match, bool [N]; None if all do."""
        if self == EVERYTHING:
            return None
        rows = np.ones(len(collection.place_of_row), bool)
        if self._of_facts:
            rows &= self._places(collection)[collection.place_of_row]
        if self.folder is not None:
            rows &= collection.names.below(self.folder)
        return rows

    @property
    def _of_facts(self) -> bool:
        sides = self.min_width, self.min_height
        others = self.since, self.until, self.language, *sides
        return bool(self.tags) or any(one is not None for one in others)

    def _places(self, collection: "Collection") -> np.ndarray:
        facts = collection.facts
        found = np.ones(len(collection), bool)
        if self.since is not None:
            found &= facts.taken >= _day(self.since)
        if self.until is not None:
            found &= facts.taken < _day(self.until) + 1
        if self.min_width is not None:
            found &= facts.width >= self.min_width
        if self.min_height is not None:
            found &= facts.height >= self.min_height
        for tag in self.tags:
            found &= _having(facts.tags.get(tag), len(found))
        if self.language is not None:
            found &= _having(facts.languages.get(self.language), len(found))
        return found


EVERYTHING = Where()


def _having(places: np.ndarray | None, count: int) -> np.ndarray:
    mask = np.zeros(count, bool)
    if places is not None:
        mask[places] = True
    return mask


def _day(text: str) -> np.datetime64:
    """A day, month or year; adding 1 gives the next one.

    >>> _day("2024-12") + 1
    np.datetime64('2025-01')
    """
    try:
        return np.datetime64(text)
    except ValueError:
        raise Problem(
            422, f"'{text}' is not a date; write one as 2024-05-31, 2024-05 or 2024"
        ) from None
