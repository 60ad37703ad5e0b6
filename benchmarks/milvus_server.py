"""The conformance tests of stores against a real Milvus server.

    python benchmarks/milvus_server.py                    # the suite, in its own network
    python benchmarks/milvus_server.py --kills 5          # and the server itself under kill -9

The server is that of the PyPI wheel `milvus` 2.3.5, which is installed into a temporary folder
(`--wheel FILE` for a local one). It listens on all interfaces, so this script restarts itself in a
network namespace with only a loopback interface (`unshare -n`, which needs root, or
`unshare -rn`).
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHEEL = "milvus==2.3.5"
PORT, PLACE = 19530, "POLYGLANCE_MILVUS_PLACE"
"""In the namespace, the variable has the folder of the server."""
BATCH = 100
SERVER = """
import signal, sys
from milvus import default_server as server
server.set_base_dir(sys.argv[1])
server.start()
print("up", flush=True)
signal.pause()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wheel", default=WHEEL, help="what to install the server from")
    parser.add_argument("--kills", type=int, default=0, help="how often to kill the server")
    parser.add_argument("--only", default="", help="which tests, as pytest's -k")
    given = parser.parse_args()
    if PLACE in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        sys.exit(measure(Path(os.environ[PLACE]), given.only, given.kills))
    print(f"{given.wheel}, {os.cpu_count()} cores, {platform.machine()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*pip, f"{folder}/packages", given.wheel], check=True)
        how = "-n" if os.geteuid() == 0 else "-rn"
        again = ["unshare", how, sys.executable, *sys.argv]
        sys.exit(subprocess.run(again, env={**os.environ, PLACE: folder}, check=False).returncode)


def measure(place: Path, only: str, times: int) -> int:
    """The tests, then kills; 0 if all succeed.

    Args:
        place: folder with the server's package.
        only: which tests, as for pytest's -k.
        times: how often to kill the server.
    """
    with serving(place):
        failed = suite(only)
    lost = kills(place, times) if times else 0
    return int(bool(failed or lost))


@contextmanager
def serving(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A server with its data in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(place / "packages")}
    command = [sys.executable, "-c", SERVER, str(place / "data")]
    started = time.monotonic()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit("the server did not start; see its logs in the folder of its data")
        print(f"server: up after {time.monotonic() - started:.0f} s", flush=True)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def suite(only: str) -> int:
    """tests/library on the server; pytest's exit code."""
    wanted = "(milvus and not lite)" + (f" and ({only})" if only else "")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", wanted]
    files = ["tests/library/stores/test_conformance.py", "tests/library/syncing/test_kills.py"]
    environment = {**os.environ, "POLYGLANCE_TEST_MILVUS": f"milvus://127.0.0.1:{PORT}"}
    return subprocess.run([*command, *files], cwd=ROOT, env=environment, check=False).returncode


def kills(place: Path, times: int) -> int:
    """Kill the server while rows are written, and restart it.

    Args:
        place: folder with the server's package and its data.
        times: how often to kill it.

    Returns the number of acknowledged rows that were lost.
    """
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from polyglance.errors import PolyglanceError
    from polyglance.library.stores.milvus import MilvusStore
    from tests.library.rows import DIM, MODEL, record, records, vectors

    address = f"milvus://127.0.0.1:{PORT}/killed"
    first, written = 0, 0
    lost: set[str] = set()
    for turn in range(times + 1):
        with serving(place) as process:
            store = MilvusStore(address) if turn else MilvusStore.create(address, MODEL, DIM)
            there = {row.id for row in store.known()}
            lost |= {record(number).id for number in range(written)} - there
            counts = f"{written:,} acknowledged, {len(there):,} there, {len(lost):,} lost"
            print(f"after {turn} kills: {counts}", flush=True)
            if turn == times:
                break
            threading.Timer(1 + turn, lambda p=process: os.killpg(p.pid, signal.SIGKILL)).start()
            try:
                while True:
                    store.upsert(records(first, BATCH), vectors(first, BATCH), MODEL)
                    first = written = first + BATCH
            except PolyglanceError:
                pass  # the current batch is written again, acknowledged or not
    return len(lost)


if __name__ == "__main__":
    main()
