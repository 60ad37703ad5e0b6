"""Timing helpers for the other benchmarks."""

import statistics
import time
from collections.abc import Callable, Mapping

from polyglance.training import Callback, Trainer
from polyglance.training.steps import StepOutcome


class Clock(Callback):
    """CPU time of every update of a training, in total and per image or caption."""

    def __init__(self) -> None:
        self.last, self.seconds, self.each = 0.0, list[float](), list[float]()

    def on_start(self, trainer: Trainer) -> None:
        self.last = time.process_time()

    def on_update(self, trainer: Trainer, outcome: StepOutcome, rate: float, size: int) -> None:
        now = time.process_time()
        self.seconds.append(now - self.last)
        self.each.append(self.seconds[-1] / size)
        self.last = now


def median_seconds(
    functions: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median time of each function, interleaved so that noise affects all alike.

    The first round is a warm-up and does not count.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds + 1):
        for name, function in functions.items():
            started = clock()
            function()
            times[name].append(clock() - started)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def show(title: str, seconds: Mapping[str, float]) -> None:
    """Print a line per function with its ratio to the first."""
    first = next(iter(seconds.values()))
    print(title)
    for name, value in seconds.items():
        print(f"  {name:34} {1000 * value:9.1f} ms   ratio {value / first:7.2f}")
