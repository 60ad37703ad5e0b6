"""Locks between processes and threads."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polyglance.storage.locks import locked, locked_if_free, take_lock

ROOT = Path(__file__).parents[2]
HOLD = """
import os, sys
from pathlib import Path
from polyglance.storage.locks import take_lock
lock = take_lock(Path(sys.argv[1]))
child = os.fork() if sys.argv[2:] else 0
if not child:  # a child has let go of the lock by now
    print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(path: Path, *more: str) -> Iterator[subprocess.Popen]:
    """A process that holds the lock until it is killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", HOLD, str(path), *more]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"held")
        try:
            yield process
        finally:
            process.kill()


def test_a_lock_is_gone_when_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    with holder(path) as process:
        assert take_lock(path) is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with locked_if_free(path) as free:
            assert free
    assert path.exists()


def test_a_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "fork") as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with locked_if_free(path) as free:
            assert free


def test_waiting_for_another_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        told: list[int] = []

        def kill() -> None:
            told.append(process.pid)
            process.kill()

        with locked(path, kill) as waited:
            assert waited
            assert take_lock(path) is None
    assert told == [process.pid]
    with locked(path, lambda: pytest.fail("nobody holds it")) as waited:
        assert not waited


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with locked(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_an_error_in_the_block_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for lock in (locked, locked_if_free):
        with pytest.raises(KeyError), lock(path):
            raise KeyError
    with locked_if_free(path) as free:
        assert free


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"exists|[Nn]ot a directory"):
        take_lock(tmp_path / "file" / "lock")


def test_no_other_module_locks_files() -> None:
    sources = ROOT / "src" / "polyglance"
    other = re.compile(r"\b(fcntl|msvcrt|flock|lockf|FileLock\()")
    found = [
        path.relative_to(sources).as_posix()
        for path in sources.rglob("*.py")
        if other.search(path.read_text("utf-8"))
    ]
    assert found == ["storage/locks.py"]
