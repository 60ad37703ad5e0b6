"""Killed wherever it is, the work goes on, and no image is lost or there twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polyglance.collection.plan import done_parts, read_plan
from polyglance.library.shards import Shard, shard_names
from polyglance.runtime import load, shipped
from polyglance.storage.folders import Folder
from tests.collection.sources import BAD, begin, embed_all, rows_of, write_folder, write_tar
from tests.kills import every_kill
from tests.library.fakes import picture
from tests.library.rows import unit

pytest.importorskip("lancedb")
ROOT = Path(__file__).parents[2]


def test_at_each_step_on_the_file_system(tmp_path: Path) -> None:
    """Each kill is followed by a run that goes on from there, until one is not killed."""
    write_tar(tmp_path / "in" / "a.tar", 9, bad=(2,))
    work = begin(tmp_path / "in", tmp_path / "out")
    parts = read_plan(work.folder)
    seen = [0]

    def check() -> None:
        names = shard_names(work.folder, "parquet")
        assert all(len(Shard(work.folder, name, "parquet")) for name in names), "all are whole"
        assert len(names) >= seen[0], "none is lost"
        seen[0] = len(names)

    steps = every_kill(lambda: embed_all(work, parts), check)
    assert steps > 10
    names = [Path(str(row["path"])).name for row in rows_of(work)]
    assert sorted(names) == [f"{number:03}.png" for number in range(9) if number != 2]
    assert done_parts(work.folder) == {"00000000"}


def command(*words: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "polyglance", "embed", *map(str, words)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(out: Path) -> list[int]:
    """Processes that a run has started, told by what they have open: its folder is their word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"POLYGLANCE_TEST_RUN={out}".encode() in words:
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.slow
def test_the_command_with_kill_9_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed as soon as another shard is there, its processes end with it; then it finishes."""
    write_folder(tmp_path / "in", 40, bad=(5,))
    out = tmp_path / "out"
    monkeypatch.setenv("POLYGLANCE_TEST_RUN", str(out))
    words = (tmp_path / "in", "--out", out, "--rows", 4, "--workers", 1)
    kills = 0
    for _ in range(4):
        before = len(shard_names(Folder(out), "parquet"))
        process = command(*words)
        while process.poll() is None and len(shard_names(Folder(out), "parquet")) <= before:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        while workers_of(out):
            time.sleep(0.05)
    assert kills == 4
    process = command(*words)
    said, wrong = process.communicate()
    assert process.returncode == 0, wrong
    assert said.startswith("39 images, 1 problem")
    names = shard_names(Folder(out), "parquet")
    rows = [
        r
        for n in names
        for r in Shard(Folder(out), n, "parquet").read(["path", "vector"]).to_pylist()
    ]
    numbers = [int(Path(row["path"]).stem) for row in rows]
    assert sorted(numbers) == [number for number in range(40) if number != 5]
    wanted = load(shipped()).encode_images([picture(number) for number in numbers])
    np.testing.assert_allclose([row["vector"] for row in rows], unit(wanted), atol=1e-3)
    bad = [json.loads(line) for line in (out / "problems.jsonl").read_text().splitlines()]
    assert [Path(row["path"]).read_bytes() for row in bad] == [BAD]
