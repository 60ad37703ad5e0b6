"""Damaged images are found or refused; `benchmarks/hostile.py uploads` sends many more."""

from starlette.testclient import TestClient

from tests.hostile.pictures import OTHERS
from tests.serve.mutated import send, uploads


def test_damaged_uploads_are_found_or_refused(client: TestClient) -> None:
    *_, tally = send(client, uploads(48))
    assert tally.count == len(OTHERS) + 48
    assert tally.refused >= len(OTHERS)
    assert tally.statuses[200] > 0
