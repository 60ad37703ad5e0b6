"""Registries of the named parts that recipes refer to."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatch
from typing import Generic, TypeVar

from polyglance.errors import PolyglanceError

T = TypeVar("T")


def nearest(name: str, names: list[str]) -> str:
    """A " (did you mean 'x'?)" hint, or the list of names if none is close.

    >>> nearest("gri", ["gru", "bigru"])
    " (did you mean 'gru'?)"
    """
    close = get_close_matches(name, names, n=1)
    return f" (did you mean '{close[0]}'?)" if close else f" (one of: {', '.join(names)})"


class Registry(Generic[T]):
    """Maps names to parts; registering a name twice is an error.

    >>> losses: Registry[type] = Registry("loss")
    >>> @losses.register("zero")
    ... class Zero: ...
    >>> losses.list("z*")
    ['zero']
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._parts: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that registers a part under `name`."""

        def add(part: T) -> T:
            if name in self._parts:
                raise ValueError(f"{self.noun} '{name}' is registered twice")
            self._parts[name] = part
            return part

        return add

    def get(self, name: str) -> T:
        """The part called `name`; the error for an unknown one suggests the nearest."""
        if name not in self._parts:
            raise PolyglanceError(f"unknown {self.noun} '{name}'{nearest(name, self.list())}")
        return self._parts[name]

    def list(self, pattern: str = "*") -> list[str]:
        """Registered names that match a wildcard, sorted."""
        return sorted(name for name in self._parts if fnmatch(name, pattern))

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())
