"""Which images of a library a search looks at."""

import os
from dataclasses import dataclass
from datetime import datetime

from polyglance.library.record import Record, path_text


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that all have to hold; without any, every image is looked at.

    >>> Filter(tags=("sea",)) == Filter()
    False
    """

    folder: str | None = None
    """Below this folder, an absolute path."""
    since: datetime | None = None
    before: datetime | None = None
    """Taken from then on, and earlier than that; images without a date are left out."""
    tags: tuple[str, ...] = ()
    """All of them."""
    language: str | None = None
    """A caption in it."""
    smallest: int | None = None
    """Pixels that both sides have at least."""

    @property
    def prefix(self) -> str | None:
        """What paths begin with."""
        return None if self.folder is None else path_text(self.folder).rstrip(os.sep) + os.sep

    def matches(self, record: Record) -> bool:
        """Whether an image is looked at."""
        return (
            (self.prefix is None or path_text(record.path).startswith(self.prefix))
            and (self.since is None or (record.taken is not None and record.taken >= self.since))
            and (self.before is None or (record.taken is not None and record.taken < self.before))
            and set(self.tags) <= set(record.tags)
            and (self.language is None or self.language in record.languages)
            and (self.smallest is None or min(record.width, record.height) >= self.smallest)
        )


EVERYTHING = Filter()
