"""Progress of anything that takes over two seconds: a bar in a terminal, lines in a log."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

T = TypeVar("T")
LOG_EVERY_SECONDS = 15.0
RATE_AFTER_SECONDS = 1.0


class _Rate(ProgressColumn):
    """The rate, from the first second on: before, it would be that of what was cached."""

    def render(self, task: Task) -> Text:
        if not task.finished and (task.elapsed or 0.0) < RATE_AFTER_SECONDS:
            return Text("")
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} {task.fields['unit']}/s")


_listener: ContextVar[Callable[[int, int], object] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[int, int], object]) -> Iterator[None]:
    """Follow the bars that are made within the block, whether they are shown or not.

    Args:
        listener: called with the steps done and their number whenever a bar advances; it may raise
            an exception to stop the work.

    >>> with listening(lambda done, total: print(f"{done} of {total}")):
    ...     squares = [x * x for x in track(range(2), "squares", 2, show=False)]
    1 of 2
    2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Bar:
    """A progress bar with rate and time left; without a terminal, a line every 15 seconds.

    Args:
        description: what is being done, shown before the bar.
        total: number of units; None if it is not known.
        unit: name of a unit, in the rate.
        show: False shows nothing; None is True.

    >>> with Bar("squares", total=3, show=False) as bar:
    ...     bar.advance(3, note="done")
    """

    def __init__(
        self, description: str, total: int | None, unit: str = "it", show: bool | None = None
    ) -> None:
        self.description, self.total, self.unit = description, total, unit
        self._console = Console(stderr=True)
        self.show = True if show is None else show
        self._live: Progress | None = None
        self._done, self._note = 0, ""
        self._start = self._last = time.monotonic()
        self._listener = _listener.get()

    def __enter__(self) -> "Bar":
        if self.show and self._console.is_terminal:
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                _Rate(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=self._console,
            )
            self._task = self._live.add_task(
                self.description, total=self.total, unit=self.unit, note=""
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self.show and kind is None and time.monotonic() - self._start > 2:
            self._log()

    def advance(self, steps: int = 1, note: str | None = None) -> None:
        """Advance by `steps`; `note` replaces the text after the bar."""
        self._done += steps
        self._note = self._note if note is None else note
        if self._listener is not None and self.total is not None:
            self._listener(self._done, self.total)
        if self._live is not None:
            self._live.update(self._task, advance=steps, note=self._note)
        elif self.show and time.monotonic() - self._last > LOG_EVERY_SECONDS:
            self._log()

    def _log(self) -> None:
        self._last = time.monotonic()
        rate = self._done / max(self._last - self._start, 1e-9)
        total, left = "", ""
        if self.total is not None:
            seconds = (self.total - self._done) / rate if rate else 0.0
            total, left = f"/{self.total}", f", {seconds:.0f} s left"
        text = f"{self.description} {self._done}{total} {rate:.1f} {self.unit}/s{left}"
        print(f"{text} {self._note}".rstrip(), file=sys.stderr, flush=True)


def shows_bar(show: bool | None, count: int, least: int) -> bool:
    """Whether to show a bar: `show`, or by default if there are at least `least` items.

    Args:
        show: what was asked for; None for the default.
        count: number of items.
        least: number from which a bar is worth showing.
    """
    return count >= least if show is None else show


def track(
    items: Iterable[T], description: str, total: int, unit: str = "it", show: bool | None = None
) -> Iterator[T]:
    """Yield from `items` while showing a `Bar`.

    Args:
        items: to yield.
        description: text before the bar.
        total: number of items.
        unit: of the rate, per second.
        show: False for no bar.
    """
    with Bar(description, total, unit, show) as bar:
        for item in items:
            yield item
            bar.advance()
