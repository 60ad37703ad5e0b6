"""Filters: which images of a library a search considers."""

import os
from dataclasses import dataclass
from datetime import datetime

from polyglance.library.record import Record, path_text


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; without any, all images match.

    >>> Filter(tags=("sea",)) == Filter()
    False
    """

    folder: str | None = None
    """Absolute path of a folder that contains the image."""
    since: datetime | None = None
    before: datetime | None = None
    """Earliest date taken, and the first date excluded; images without a date do not match."""
    tags: tuple[str, ...] = ()
    """Tags that the image must all have."""
    language: str | None = None
    """Language of at least one caption."""
    smallest: int | None = None
    """Least number of pixels of both sides."""

    @property
    def prefix(self) -> str | None:
        """Common prefix of matching paths."""
        return None if self.folder is None else path_text(self.folder).rstrip(os.sep) + os.sep

    def matches(self, record: Record) -> bool:
        """Whether an image matches."""
        return (
            (self.prefix is None or path_text(record.path).startswith(self.prefix))
            and (self.since is None or (record.taken is not None and record.taken >= self.since))
            and (self.before is None or (record.taken is not None and record.taken < self.before))
            and set(self.tags) <= set(record.tags)
            and (self.language is None or self.language in record.languages)
            and (self.smallest is None or min(record.width, record.height) >= self.smallest)
        )


EVERYTHING = Filter()
