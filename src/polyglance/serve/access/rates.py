"""Rate limits per client."""

import time
from collections import OrderedDict
from collections.abc import Callable

CLIENTS = 10_000
"""Largest number of clients remembered; the least recent is forgotten first."""


class Rates:
    """A token bucket per client, filled evenly: a minute's worth may be used at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            per_minute: requests per client.
            clock: returns seconds.
        """
        self.per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Count a request; the seconds until one is allowed, 0 if this one is.

        >>> rates = Rates(60, clock=lambda: 0.0)
        >>> [rates.wait("a") for _ in range(61)][-2:], rates.wait("b")
        ([0.0, 1.0], 0.0)
        """
        now = self._clock()
        full = float(self.per_minute)
        left, then = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - then) * full / 60)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left), now
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / full
