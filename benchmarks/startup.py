"""Time of a search from the start of the command to its first result, with an index.

    python benchmarks/startup.py FOLDER [--query TEXT] [--model MODEL] [--rounds 10]

FOLDER has images; the first search indexes them and does not count. Wall-clock and CPU seconds
(the latter are independent of other programs), and peak memory.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time


def search(command: list[str]) -> tuple[float, float, float, float]:
    """Seconds to the first line of a search, to its end, and of CPU; peak memory in MB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    line = process.stdout.readline()
    first = time.perf_counter() - started
    process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    whole = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not line:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}")
    return first, whole, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--query", default="zwei Hunde im Schnee")
    parser.add_argument("--model", help="the included model by default")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    command = [sys.executable, "-m", "polyglance", "search"]
    command += [] if given.model is None else ["--model", given.model]
    command += [given.folder, given.query]
    search(command)
    found = [search(command) for _ in range(given.rounds)]
    names = ("to the first line, s", "to the end, s", "of the processor, s", "memory, MB")
    for name, values in zip(names, zip(*found, strict=True), strict=True):
        print(f"{name:24} median {statistics.median(values):8.2f}, least {min(values):8.2f}")


if __name__ == "__main__":
    main()
