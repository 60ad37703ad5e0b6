"""A least-recently-used cache."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class LRU(Generic[V]):
    """At most `limit` values by key; the least recently used is evicted first.

    Thread-safe; a value may be computed twice.

    >>> lengths = LRU(2)
    >>> lengths.get(["a", "bc"], lambda keys: [len(key) for key in keys])
    [1, 2]
    >>> lengths.get(["a", "def"], lambda keys: print(keys) or [3])
    ['def']
    [1, 3]
    >>> len(lengths), "bc" in lengths
    (2, False)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Sequence[Hashable], compute: Callable[[list[Any]], Sequence[V]]) -> list[V]:
        """The value of each key; `compute` returns those of the distinct missing keys."""
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            new = dict(zip(missing, compute(missing), strict=True))
            found |= new
            with self._lock:
                self._values.update(new)
                while len(self._values) > self.limit:
                    self._values.popitem(last=False)
        return [found[key] for key in keys]

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def __reduce__(self) -> tuple[type["LRU[V]"], tuple[int]]:
        """Copies are empty, since locks cannot be copied."""
        return LRU, (self.limit,)
