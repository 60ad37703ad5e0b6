"""Processes at the other end of a pipe."""

import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from polyglance.core.apart import Apart


def answer(pipe: Connection, more: int) -> None:
    """Numbers are answered with larger ones; 0 ends the process."""
    while number := int(pipe.recv_bytes()):
        pipe.send_bytes(str(number + more).encode())
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def apart() -> Iterator[Apart]:
    found = Apart(answer, 7)
    yield found
    found.close()


def asked(pipe: Connection, number: int) -> int:
    pipe.send_bytes(str(number).encode())
    return int(pipe.recv_bytes())


def test_it_is_started_once_and_again_after_its_end(apart: Apart) -> None:
    assert apart.process is None
    pipe, fresh = apart.pipe()
    assert (fresh, asked(pipe, 1)) == (True, 8)
    assert apart.pipe() == (pipe, False)
    with pytest.raises((EOFError, ConnectionError)):
        asked(pipe, 0)
    assert apart.process is not None
    apart.process.join()
    pipe, fresh = apart.pipe()
    assert (fresh, asked(pipe, 2)) == (True, 9)


def test_closing_ends_it(apart: Apart) -> None:
    apart.pipe()
    process = apart.process
    assert process is not None
    apart.close()
    assert process.exitcode == -signal.SIGKILL
    assert apart.process is None
