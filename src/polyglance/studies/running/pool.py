"""A pool of worker processes for tasks; a worker that dies is replaced."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from polyglance.numerics.devices import AUTO, count_devices
from polyglance.studies.running.store import CRASH, RunFolder
from polyglance.studies.running.worker import Task

TICK_SECONDS = 0.5
GPUS = "CUDA_VISIBLE_DEVICES"

Event = tuple[int, str]
"""Position of a task, and "start", "left" (not started), "" (done) or "failed: reason"."""

START, LEFT, FAILED = "start", "left", "failed: "


class Pool:
    """`jobs` processes; leaving the block stops them at once, keeping their checkpoints.

    Each gets a GPU of its own, if there are several.
    """

    def __init__(
        self, tasks: Sequence[Task], jobs: int, starts: Callable[[int], bool] | None = None
    ) -> None:
        """The workers start when the block is entered.

        Args:
            tasks: to perform.
            jobs: number of workers.
            starts: whether the task at a position should still start; called in several threads.
        """
        self.tasks, self.jobs, self._starts = tasks, min(jobs, len(tasks)), starts
        self._environments = worker_environments(self.jobs, {task.device for task in tasks})
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._lock, self._closed = threading.Lock(), False

    def __enter__(self) -> "Pool":
        for position in range(len(self.tasks)):
            self._todo.put(position)
        for slot in range(self.jobs):
            threading.Thread(target=self._serve, args=(slot,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def events(self) -> Iterator[Event | None]:
        """Starts and ends of tasks as they happen, None from time to time, until all have ended."""
        left = len(self.tasks)
        while left:
            try:
                position, event = self._events.get(timeout=TICK_SECONDS)
            except queue.Empty:
                yield None
                continue
            left -= event != START
            yield position, event

    def _serve(self, slot: int) -> None:
        while True:
            try:
                position = self._todo.get_nowait()
            except queue.Empty:
                return
            if self._starts is not None and not self._starts(position):
                self._events.put((position, LEFT))
                continue
            self._events.put((position, START))
            reason = self._ask(slot, self.tasks[position])
            if self._closed:
                return
            self._events.put((position, f"{FAILED}{reason}" if reason else ""))

    def _ask(self, slot: int, task: Task) -> str:
        process = self._process(slot)
        if process is None or process.stdin is None or process.stdout is None:
            return "the study was stopped"
        try:
            process.stdin.write(task.to_json() + "\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            reply = ""
        if reply:
            return str(json.loads(reply)["reason"])
        return "" if self._closed else self._worker_died(slot, task)

    def _process(self, slot: int) -> "subprocess.Popen[str] | None":
        with self._lock:
            if self._closed:
                return None
            if slot not in self._processes:
                self._processes[slot] = subprocess.Popen(
                    [sys.executable, "-m", "polyglance.studies.running.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=self._environments[slot],
                    # Ctrl-C goes to the parent only, which stops its workers in order.
                    start_new_session=True,
                )
            return self._processes[slot]

    def _worker_died(self, slot: int, task: Task) -> str:
        with self._lock:
            code = self._processes.pop(slot).wait()
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        reason = (
            f"the worker process ended {how}, perhaps for lack of memory; "
            "repeat the command to continue from its last checkpoint"
        )
        RunFolder(Path(task.folder)).fail(reason, CRASH)
        return reason


def worker_environments(jobs: int, devices: Collection[str]) -> list[dict[str, str]]:
    """Environment variables of each worker: with several GPUs, each sees one, in turn.

    Args:
        jobs: number of workers.
        devices: of their tasks; if one names a GPU by number, nothing is changed.
    """
    gpus = visible_gpus() if jobs > 1 and set(devices) <= {AUTO, "cuda"} else []
    own = [{GPUS: gpus[slot % len(gpus)]} if len(gpus) > 1 else {} for slot in range(jobs)]
    return [{**os.environ, **one} for one in own]


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, in the form of CUDA_VISIBLE_DEVICES."""
    named, count = os.environ.get(GPUS), count_devices("cuda")
    return (
        [one.strip() for one in named.split(",")][:count] if named else list(map(str, range(count)))
    )


def threads_for(jobs: int) -> int:
    """Threads per worker: OMP_NUM_THREADS, or the cores shared evenly."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    if named.isdigit() and int(named):
        return int(named)
    return max(1, cores() // jobs)


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
