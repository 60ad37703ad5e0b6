"""Pictures from an attacker against the address that takes uploads."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from starlette.testclient import TestClient

from tests.hostile.cases import LONGEST, damaged, seeds
from tests.hostile.pictures import FORMATS, OTHERS, encoded

REFUSALS = (413, 415, 422)


@dataclass
class Tally:
    """What became of uploads."""

    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    @property
    def refused(self) -> int:
        return sum(self.statuses[status] for status in REFUSALS)


def uploads(count: int) -> Iterator[bytes]:
    """Files that are no images, and `count` of random damage to images of all formats."""
    yield from OTHERS.values()
    for number, generator in enumerate(seeds(count)):
        yield damaged(encoded(FORMATS[number % len(FORMATS)]), generator)


def send(client: TestClient, files: Iterator[bytes]) -> Iterator[Tally]:
    """Send each; whatever is neither found nor refused with a sentence is a fault of ours."""
    tally = Tally()
    for data in files:
        answer = client.post(
            "/v1/search?limit=1", content=data, headers={"content-type": "image/jpeg"}
        )
        tally.statuses[answer.status_code] += 1
        assert answer.status_code in (200, *REFUSALS), (answer.status_code, answer.text, data)
        if answer.status_code != 200:
            said = answer.json()["error"]["message"]
            assert said
            assert len(said) <= LONGEST
            assert "Traceback" not in said
        yield tally


def resident(process: int | None = None) -> int:
    """Bytes of memory that a process has, this one by default."""
    pages = Path(f"/proc/{process or 'self'}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
