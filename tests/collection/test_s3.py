"""Collections and shards in an object store, which moto plays on this machine."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyglance.collection.plan import read_plan
from polyglance.library import Library
from polyglance.library.shards import Shard, shard_names
from polyglance.runtime import load, shipped
from polyglance.storage.folders import Folder
from tests.collection.sources import BAD, begin, embed_all, png, rows_of, write_tar
from tests.collection.test_kills import command, workers_of
from tests.library.fakes import picture
from tests.library.rows import unit

pytest.importorskip("lancedb")
s3fs = pytest.importorskip("s3fs", reason="needs s3fs, beside 'moto[s3]', flask and flask-cors")
pytest.importorskip("moto.server", reason="needs 'moto[s3]', flask and flask-cors, beside s3fs")
ACCESS = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",  # for LanceDB, which has a client of its own
}


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A store with the bucket `pictures`, named by the environment as its users name theirs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ACCESS.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        try:
            while process.poll() is None:
                with socket.socket() as asked:
                    if not asked.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.1)
            found = s3fs.S3FileSystem()
            found.makedir("pictures")
            yield found
        finally:
            process.kill()
            process.wait()


def names_of(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(Path(str(row["path"])).name for row in rows)


@pytest.mark.slow
def test_the_command_killed_and_called_again(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        data = BAD if number == 5 else png(number)
        store.pipe_file(f"pictures/in/{number % 2}/{number:03}.png", data)
    out = Folder("s3://pictures/out")
    monkeypatch.setenv("POLYGLANCE_TEST_RUN", str(tmp_path))
    words = ("s3://pictures/in", "--out", out.place, "--rows", 3, "--workers", 1)
    for _ in range(2):
        before = len(shard_names(out, "parquet"))
        process = command(*words)
        while process.poll() is None and len(shard_names(out, "parquet")) <= before:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        while workers_of(tmp_path):
            time.sleep(0.05)
    process = command(*words)
    said, wrong = process.communicate()
    assert (process.returncode, said) == (0, f"11 images, 1 problem: {out.place}\n"), wrong
    shards = [Shard(out, name, "parquet") for name in shard_names(out, "parquet")]
    rows = [row for shard in shards for row in shard.read(["path", "vector"]).to_pylist()]
    numbers = [int(Path(row["path"]).stem) for row in rows]
    assert sorted(numbers) == [number for number in range(12) if number != 5]
    wanted = load(shipped()).encode_images([picture(number) for number in numbers])
    np.testing.assert_allclose([row["vector"] for row in rows], unit(wanted), atol=1e-3)
    library = Library.of_shards(tmp_path / "library", out.place)
    best = library.search(picture(7), top=1)[0].record
    assert best.path == "s3://pictures/in/1/007.png"
    assert library.thumbnail(best.id)


@pytest.mark.parametrize("kind", ["parquet", "lance"])
def test_tars_and_tables_of_addresses(store: Any, tmp_path: Path, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    write_tar(tmp_path / "a.tar.gz", 5, bad=(1,))
    store.put_file(str(tmp_path / "a.tar.gz"), f"pictures/tars-{kind}/a.tar.gz")
    work = begin(f"s3://pictures/tars-{kind}", f"s3://pictures/of-tars-{kind}", kind=kind)
    embed_all(work, read_plan(work.folder))
    assert names_of(rows_of(work)) == ["000.png", "002.png", "003.png", "004.png"]

    for number in range(3):
        store.pipe_file(f"pictures/loose/{number:03}.png", png(number))
    addresses = [f"s3://pictures/loose/{number:03}.png" for number in (2, 0, 9)]
    parquet.write_table(pa.table({"url": addresses}), tmp_path / "t.parquet")
    store.put_file(str(tmp_path / "t.parquet"), f"pictures/tables-{kind}/t.parquet")
    work = begin(f"s3://pictures/tables-{kind}", f"s3://pictures/of-tables-{kind}", kind=kind)
    embed_all(work, read_plan(work.folder))
    assert names_of(rows_of(work)) == ["000.png", "002.png"]


def test_a_missing_source_is_reported_and_leaves_the_folder_free(store: Any) -> None:
    words = "--out", "s3://pictures/later", "--workers", 1
    wrong = {"s3://nowhere/in": "does not exist", "s3://pictures/none": "no such folder"}
    for source, said in wrong.items():
        process = command(source, *words)
        error = process.communicate()[1].splitlines()[-1]
        assert process.returncode == 2
        assert error.startswith(f"error: {source}")
        assert said in error
