"""Stores under kill -9, and written to by two processes at once."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from polyglance.library import sync
from tests.library.fakes import library_of, picture, save
from tests.library.rows import record, unit, vectors
from tests.library.stores.kinds import DURABLE, SERVER, SHARED, Kind, kinds

ROOT = Path(__file__).parents[3]
BATCH = 50
WRITER = """
import sys
from pathlib import Path
from tests.library.rows import MODEL, record, records, vectors
from tests.library.stores.kinds import KINDS

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


def start(
    kind: Kind, folder: Path, first: int, last: int, stderr: int | None = None
) -> subprocess.Popen[str]:
    """A process that writes batches and tells what is done."""
    command = [sys.executable, "-c", WRITER, kind.name, str(folder), str(first), str(last)]
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    if SERVER:
        environment["POLYGLANCE_TEST_MILVUS"] = SERVER
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=ROOT
    )


def rows_of(batch: int) -> set[str]:
    return {record(batch * BATCH + row).id for row in range(BATCH)}


@durable
def test_no_acknowledged_row_is_lost(kind: Kind, tmp_path: Path) -> None:
    """Killed again and again, wherever it happens to be some steps after an acknowledgement."""
    kind.create(tmp_path / "store").close()
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
        with closing(kind.open(tmp_path / "store")) as store:
            there = {row.id for row in store.known()}
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


@pytest.mark.parametrize("kind", kinds([name for name in DURABLE if name not in SHARED]))
def test_a_second_process_is_refused(kind: Kind, tmp_path: Path) -> None:
    store = kind.create(tmp_path / "store")
    process = start(kind, tmp_path / "store", 0, 1, stderr=subprocess.PIPE)
    out, error = process.communicate()
    assert (out, process.returncode) == ("", 1)
    assert "another process has it open" in error.splitlines()[-1]
    store.close()
    assert start(kind, tmp_path / "store", 0, 1).communicate()[0] == "written 0\n"


@pytest.mark.parametrize("kind", kinds(SHARED))
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


SYNCER = """
import sys
from pathlib import Path
import polyglance.library.syncing.apply as apply
import polyglance.library.media.embedding as embedding
from polyglance.library import Library, sync
from tests.library.fakes import FakeModel

apply.COMMIT_ROWS = embedding.BATCH = 2
model = FakeModel()
embed = model.embed_pixels

def told(pixels):
    print("embedding", flush=True)
    sys.stdin.readline()
    return embed(pixels)

model.embed_pixels = told
sync(Library.open(Path(sys.argv[1]), model), show_progress=False)
"""


def test_a_killed_sync_resumes(tmp_path: Path) -> None:
    """Killed at its fourth batch, again and again, it embeds only what it had not."""
    pytest.importorskip("lancedb")
    for number in range(24):
        save(tmp_path / "pictures" / f"{number:02}.png", number)
    library = library_of(tmp_path / "library", tmp_path / "pictures")
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    counts = []
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SYNCER, str(library.folder)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "embedding\n"
            process.stdin.write("go on\n")
            process.stdin.flush()
        assert process.stdout.readline() == "embedding\n"
        process.kill()
        process.communicate()
        counts.append(library.store.count())
    assert counts == [6, 12, 18]
    report = sync(library)
    assert (report.unchanged, report.added) == (18, 6)
    rows = library.store.records()
    assert [Path(row.path).name for row in rows] == [f"{number:02}.png" for number in range(24)]
    expected = library.model.encode_images([picture(number) for number in range(24)])
    found = library.store.vectors([row.id for row in rows])
    np.testing.assert_allclose(found, unit(expected), atol=1e-5)
    assert all(library.thumbnails.get(row.thumbnail) for row in rows)
