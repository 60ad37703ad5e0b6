"""Engines that embed the parts: local processes, or Ray on its cluster."""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import Any, NamedTuple

from polyglance.collection.plan import Part, part_of
from polyglance.collection.work import Counts
from polyglance.collection.worker import Failed, Worker
from polyglance.errors import needed_by

ENGINES = ("processes", "ray")
BLOCKS = 2000
"""Largest number of blocks that the work is divided into for Ray."""


class Outcome(NamedTuple):
    """A part that is done, or the reason why not."""

    part: Part
    counts: Counts | None
    failed: str = ""


Engine = Callable[[str, Sequence[Part], int | None, Callable[[int], None]], Iterator[Outcome]]


def run_processes(
    place: str, parts: Sequence[Part], workers: int | None, progress: Callable[[int], None]
) -> Iterator[Outcome]:
    """Embed parts in local processes; outcomes in order of completion.

    Args:
        place: the folder of shards.
        parts: to embed.
        workers: number of processes; by default one per core.
        progress: called with the number of images done.
    """
    own = threading.local()
    started: list[Worker] = []
    lock = threading.Lock()

    def advance(done: int) -> None:
        with lock:
            progress(done)

    def embed(part: Part) -> Outcome:
        if not hasattr(own, "worker"):
            own.worker = Worker(place)
            started.append(own.worker)
        return outcome_of(own.worker, part, advance)

    size = workers or os.cpu_count() or 1
    pool = ThreadPoolExecutor(size)
    waiting: set[Future[Outcome]] = set()
    try:
        for part in parts:
            waiting.add(pool.submit(embed, part))
            if len(waiting) >= 2 * size:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in started:
            worker.close()


def outcome_of(worker: Worker, part: Part, progress: Callable[[int], None]) -> Outcome:
    """Embed a part; a part that cannot be read now is an outcome too.

    Args:
        worker: embeds it.
        part: of the collection.
        progress: called with the number of images done since the last call.
    """
    try:
        return Outcome(part, worker(part, progress))
    except Failed as error:
        return Outcome(part, None, str(error))


def check_ray() -> None:
    """Raise if Ray is not installed."""
    with needed_by("the engine 'ray'", "ray"):
        import ray  # noqa: F401


def run_ray(
    place: str, parts: Sequence[Part], workers: int | None, progress: Callable[[int], None]
) -> Iterator[Outcome]:
    """Embed parts with Ray Data, on its cluster, or on this machine if there is none.

    Args:
        place: the folder of shards, writable by all machines of the cluster.
        parts: to embed.
        workers: number of actors; by default one per core of the cluster.
        progress: called with the number of images done, part by part.
    """
    import ray

    # Without the dashboard, an unneeded web server.
    ray.init(
        ignore_reinit_error=True,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    most = workers or int(ray.cluster_resources().get("CPU", 1))
    context: Any = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = [{"part": part.as_json()} for part in parts]
    blocks = min(len(rows), BLOCKS)
    dataset: Any = ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        _Actor,
        fn_constructor_args=(place,),
        batch_size=1,
        concurrency=(1, most),
        num_cpus=1,
    )
    for row in dataset.iter_rows():
        outcome = _parsed(json.loads(row["outcome"]))
        if outcome.counts is not None:
            progress(outcome.counts.images + outcome.counts.problems)
        yield outcome


class _Actor:
    """A Ray actor; it embeds in a process of its own, which an image may crash."""

    def __init__(self, place: str) -> None:
        self.worker = Worker(place)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        found = []
        for text in batch["part"]:
            outcome = outcome_of(self.worker, part_of(text), lambda done: None)
            counts = None if outcome.counts is None else asdict(outcome.counts)
            fields = {"part": str(text), "counts": counts, "failed": outcome.failed}
            found.append(json.dumps(fields))
        return {"outcome": found}


def _parsed(fields: dict[str, Any]) -> Outcome:
    counts = None if fields["counts"] is None else Counts(**fields["counts"])
    return Outcome(part_of(fields["part"]), counts, fields["failed"])


RUN: dict[str, Engine] = {"processes": run_processes, "ray": run_ray}
