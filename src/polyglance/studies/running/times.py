"""Durations of runs, estimated from finished ones, and the progress bar."""

import sys
import time
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from polyglance.studies.plan import Run

RESTART_SECONDS = 2.0
"""Overhead of a run in seconds: loading data and model, evaluating."""


class Estimate:
    """Seconds of a run: those of its other seeds, else the mean of all finished runs."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    def add(self, group: str, seconds: float) -> None:
        self._seconds.setdefault(group, []).append(seconds)

    def has(self, group: str) -> bool:
        """Whether a run of the group has finished."""
        return group in self._seconds

    def of(self, group: str) -> float | None:
        known = self._seconds.get(group) or [s for own in self._seconds.values() for s in own]
        return sum(known) / len(known) + RESTART_SECONDS if known else None

    def total(self, runs: Iterable[Run], jobs: int) -> float | None:
        """Wall-clock seconds of `runs`; None before the first has finished."""
        parts = [self.of(run.group) for run in runs]
        return None if None in parts else sum(p for p in parts if p is not None) / jobs


def duration(seconds: float) -> str:
    """A duration as text.

    >>> duration(0.31), duration(42), duration(600), duration(8000)
    ('0.3 s', '42 s', '10 min', '2 h 13 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


class StudyBar:
    """One bar for all runs with the time left; in a pipe one line per finished run."""

    def __init__(
        self,
        todo: Sequence[Run],
        counts: tuple[int, int],
        jobs: int,
        estimate: Estimate,
        show: bool | None,
    ) -> None:
        """Created before the first run.

        Args:
            todo: runs that will start.
            counts: number of finished runs, and of all runs.
            jobs: number of parallel runs.
            estimate: of durations.
            show: False for no output.
        """
        (self.ended, self.total), self.jobs, self.estimate = counts, jobs, estimate
        self.show = show is not False
        self._left = {run.key: run for run in todo}
        self._running: dict[str, float] = {}
        self._console = Console(stderr=True)
        self._live: Progress | None = None

    def __enter__(self) -> "StudyBar":
        if self.show and self._console.is_terminal:
            columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            note = TextColumn("{task.description}")
            self._live = Progress(*columns, note, console=self._console)
            self._task = self._live.add_task("", total=self.total, completed=self.ended)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def start(self, run: Run) -> None:
        self._running[run.key] = time.monotonic()
        self.tick()

    def end(self, run: Run, reason: str = "") -> None:
        """Count a run as finished, with the reason if it failed."""
        seconds = time.monotonic() - self._running.pop(run.key)
        if not reason:
            self.estimate.add(run.group, max(0.0, seconds - RESTART_SECONDS))
        del self._left[run.key]
        self.ended += 1
        how = f"FAILED: {reason}" if reason else f"done in {duration(seconds)}"
        if self._live is not None:
            self._live.console.print(f"{run.label}: {how}", highlight=False, markup=False)
        elif self.show:
            text = f"[{self.ended}/{self.total}] {run.label}: {how}{self.time_left()}"
            print(text, file=sys.stderr, flush=True)
        self.tick()

    def leave(self, run: Run) -> None:
        """Count a run that will not start."""
        del self._left[run.key]
        self.tick()

    def tick(self) -> None:
        """Update the count, the time left and the running tasks."""
        if self._live is not None:
            names = "; ".join(self._left[key].label for key in self._running)
            note = f"{names}{self.time_left()}"
            self._live.update(self._task, completed=self.ended, description=note)

    def time_left(self) -> str:
        total = self.estimate.total(self._left.values(), self.jobs)
        if total is None or not self._left:
            return ""
        now = time.monotonic()
        spent = sum(now - started for started in self._running.values()) / self.jobs
        return f", about {duration(max(1.0, total - spent))} left"
