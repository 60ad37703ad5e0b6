"""Processes at the other end of a pipe."""

import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from polyglance.core.child_process import ChildProcess


def answer(pipe: Connection, more: int) -> None:
    """Numbers are answered with larger ones; 0 ends the process."""
    while number := int(pipe.recv_bytes()):
        pipe.send_bytes(str(number + more).encode())
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    found = ChildProcess(answer, 7)
    yield found
    found.close()


def asked(pipe: Connection, number: int) -> int:
    pipe.send_bytes(str(number).encode())
    return int(pipe.recv_bytes())


def test_it_is_started_once_and_again_after_its_end(child: ChildProcess) -> None:
    assert child.process is None
    pipe, fresh = child.pipe()
    assert (fresh, asked(pipe, 1)) == (True, 8)
    assert child.pipe() == (pipe, False)
    with pytest.raises((EOFError, ConnectionError)):
        asked(pipe, 0)
    assert child.process is not None
    child.process.join()
    pipe, fresh = child.pipe()
    assert (fresh, asked(pipe, 2)) == (True, 9)


def test_closing_ends_it(child: ChildProcess) -> None:
    child.pipe()
    process = child.process
    assert process is not None
    child.close()
    assert process.exitcode == -signal.SIGKILL
    assert child.process is None
