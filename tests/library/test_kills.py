"""Stores under kill -9, and written to by two processes at once."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.library.rows import record, unit, vectors
from tests.library.stores import DURABLE, Kind, kinds

ROOT = Path(__file__).parents[2]
BATCH = 50
WRITER = """
import sys
from pathlib import Path
from tests.library.rows import MODEL, record, records, vectors
from tests.library.stores import KINDS

name, folder, first, last = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
store = KINDS[name].open(folder)
for batch in range(first, last):
    start = batch * 50
    store.upsert(records(start, 50), vectors(start, 50), MODEL)
    print("written", batch, flush=True)
    if batch % 3 == 2:
        store.delete([record(start + row).id for row in range(50)])
        print("deleted", batch, flush=True)
    if batch % 10 == 9:
        store.optimise()
"""
durable = pytest.mark.parametrize("kind", kinds(DURABLE))


def start(kind: Kind, folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    """A process that writes batches and tells what is done."""
    command = [sys.executable, "-c", WRITER, kind.name, str(folder), str(first), str(last)]
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def rows_of(batch: int) -> set[str]:
    return {record(batch * BATCH + row).id for row in range(BATCH)}


@durable
def test_no_acknowledged_row_is_lost(kind: Kind, tmp_path: Path) -> None:
    """Killed again and again, wherever it happens to be some steps after an acknowledgement."""
    kind.create(tmp_path / "store")
    assert kind.open is not None
    written: set[int] = set()
    deleted: set[int] = set()
    begun = 0
    for turn in range(5):
        process = start(kind, tmp_path / "store", begun, 10**6)
        assert process.stdout is not None
        for _ in range(3 + 4 * turn):
            what, number = process.stdout.readline().split()
            (written if what == "written" else deleted).add(int(number))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:  # acknowledged before it died
            what, number = line.split()
            (written if what == "written" else deleted).add(int(number))
        assert process.wait() == -signal.SIGKILL
        begun = max(written) + 2  # the one under way may be there or not
        there = {row.id for row in kind.open(tmp_path / "store").known()}
        for batch in range(begun):
            found = len(there & rows_of(batch))
            assert found in (0, BATCH), "a batch is there whole or not at all"
            if batch in deleted:
                assert not found
            elif batch in written and batch % 3 != 2:
                assert found == BATCH
    kept = min(written - deleted)
    ids = [record(kept * BATCH + row).id for row in range(BATCH)]
    expected = unit(vectors(kept * BATCH, BATCH))
    np.testing.assert_allclose(kind.open(tmp_path / "store").vectors(ids), expected, atol=1e-6)


@durable
def test_two_processes_at_once(kind: Kind, tmp_path: Path) -> None:
    """Two write, partly the same rows; a third, this one, reads meanwhile."""
    store = kind.create(tmp_path / "store")
    both = [start(kind, tmp_path / "store", *span) for span in ((0, 20), (10, 30))]
    seen = []
    while any(process.poll() is None for process in both):
        seen.append(store.count())
    assert [process.returncode for process in both] == [0, 0]
    assert len(seen) > 5
    assert seen[-1] > 0
    there = [row.id for row in store.known()]
    expected = set().union(*(rows_of(batch) for batch in range(30) if batch % 3 != 2))
    assert sorted(there) == sorted(expected), "none lost, none twice"
