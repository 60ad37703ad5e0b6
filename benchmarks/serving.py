"""Latency of requests to the service, sent from another process by several concurrent clients.

    python benchmarks/serving.py [--pictures 10000] [--requests 200] [--clients 1 8 64]

The library has real files without content and random embeddings around centres: the measurements
do not depend on what they show. Sentences differ each time, so that nothing is cached. In addition
to the latency, which depends on the machine's load, the service's CPU time per request and its
memory are reported.
"""

import argparse
import http.client
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.library import embeddings, row, write_files
from polyglance.library import Library
from polyglance.library.syncing.scan import scan
from polyglance.studies.running.machine import commit, cpu_model, memory_size
from tests.hostile.pictures import NOISE

THINGS = ("dog", "beach", "car", "house", "child", "horse", "boat", "mountain", "street", "cat")
COLOURS = ("red", "blue", "white", "black", "green", "yellow", "old", "small", "large", "wet")
PLACES = ("in the snow", "at night", "in the rain", "by the sea", "in a garden", "on a table")
HEAD = (
    "| asked by | clients | p50 ms | p95 ms | p99 ms | a second | turned away | processor ms "
    "| memory MB |"
)
Ask = Callable[[http.client.HTTPConnection, int], bool]
"""Sends the request with a number; whether it was answered rather than rejected."""


def make_library(place: Path, count: int) -> Library:
    """A library of the included model with random embeddings."""
    write_files(place / "pictures", count)
    library = Library.create(place / "library")
    library.change(folders=[str(place / "pictures")])
    seen = scan([str(place / "pictures")]).seen
    records = [row(path, stamp, number) for number, (path, stamp) in enumerate(seen.items())]
    for start in range(0, count, 10_000):
        part = records[start : start + 10_000]
        vectors = embeddings(len(part), library.settings.dim, start)
        library.store.upsert(part, vectors, library.settings.model)
    library.store.optimise()
    return library


@contextmanager
def served(library: Path) -> Iterator[str]:
    """The address of `polyglance serve` in a separate process, when it is ready."""
    command = [sys.executable, "-m", "polyglance", "serve", str(library), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://[^ ]+", process.stdout.readline())
        assert found is not None
        while get(connect(found[0]), "/v1/ready")[0] != 200:
            time.sleep(0.2)
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def connect(address: str) -> http.client.HTTPConnection:
    """A connection of one client."""
    parts = urlsplit(address)
    return http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=600)


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body."""
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def by_text(connection: http.client.HTTPConnection, number: int) -> bool:
    """A new sentence."""
    words = COLOURS[number % 10], THINGS[number // 10 % 10], PLACES[number // 100 % 6]
    asked = quote(" ".join(words) + f" {number}")
    status, body = get(connection, f"/v1/search?q={asked}&limit=40")
    assert status == 200, body
    return True


def filtered(connection: http.client.HTTPConnection, number: int) -> bool:
    """The same in a tenth of the images."""
    words = f"{COLOURS[number % 10]} {THINGS[number // 10 % 10]} {number}"
    status, body = get(connection, f"/v1/search?q={quote(words)}&limit=40&tag=tenth")
    assert status == 200, body
    return True


def by_picture(connection: http.client.HTTPConnection, number: int) -> bool:
    """An uploaded JPEG of 640 × 480."""
    connection.request("POST", "/v1/search?limit=40", _jpeg(), {"Content-Type": "image/jpeg"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status in (200, 503), body  # of many at once some are rejected
    return answer.status == 200


def _jpeg() -> bytes:
    import io

    from PIL import Image

    global _SENT
    if not _SENT:
        buffer = io.BytesIO()
        Image.fromarray(NOISE).resize((640, 480)).save(buffer, "JPEG", quality=85)
        _SENT = buffer.getvalue()
    return _SENT


_SENT = b""


def metric(address: str, name: str) -> float:
    """A metric of the service."""
    text = get(connect(address), "/metrics")[1].decode()
    found = re.search(rf"^{name} (\S+)$", text, re.M)
    assert found is not None
    return float(found[1])


def load(
    address: str, ask: Ask, clients: int, requests: int, numbers: Iterator[int]
) -> list[float]:
    """Seconds of the requests that were answered, of `requests` sent by several clients."""
    times: list[float] = []
    left, lock = itertools.count(), threading.Lock()

    def work() -> None:
        connection = connect(address)
        while True:
            with lock:
                if next(left) >= requests:
                    return
                number = next(numbers)
            start = time.perf_counter()
            if ask(connection, number):
                times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", default=["sentence", "filtered", "picture"])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    options = parser.parse_args()
    kinds: dict[str, Ask] = {"sentence": by_text, "filtered": filtered, "picture": by_picture}
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as made:
        library = make_library(Path(made), options.pictures)
        with served(library.folder) as address:
            print(f"{options.pictures} pictures, {options.requests} requests; commit {commit()}")
            print(f"{os.cpu_count()} cores of {cpu_model()}, {memory_size()}")
            print(f"load {os.getloadavg()[0]:.1f}\n\n{HEAD}")
            print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
            for name, ask in ((name, kinds[name]) for name in options.kinds):
                load(address, ask, 2, 4, numbers)
                for clients in options.clients:
                    measure(address, name, ask, clients, options.requests, numbers)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


def measure(
    address: str, name: str, ask: Ask, clients: int, requests: int, numbers: Iterator[int]
) -> None:
    """A row of the table."""
    before = metric(address, "process_cpu_seconds_total")
    start = time.perf_counter()
    times = load(address, ask, clients, requests, numbers)
    seconds = time.perf_counter() - start
    busy = metric(address, "process_cpu_seconds_total") - before
    memory = metric(address, "process_resident_memory_bytes") / 1e6
    p50, p95, p99 = (1000 * float(np.quantile(times, share)) for share in (0.5, 0.95, 0.99))
    rate, own, away = len(times) / seconds, 1000 * busy / requests, requests - len(times)
    print(
        f"| {name} | {clients} | {p50:.0f} | {p95:.0f} | {p99:.0f} | {rate:.1f} | {away} "
        f"| {own:.1f} | {memory:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
