"""What threads may do at a time, with something done before the first and after the last."""

from collections.abc import Callable
from threading import Condition
from types import TracebackType


class Together:
    """A block for several threads: the first to enter calls `first`, the last to leave `last`.

    After `most` entries newcomers wait until all have left, so that under constant load `last`
    is called now and then. A thread must not enter twice where there is a `most`.
    """

    def __init__(
        self, first: Callable[[], None], last: Callable[[], None], most: int | None = None
    ) -> None:
        self.first, self.last, self.most = first, last, most
        self._gate, self._inside, self._entered = Condition(), 0, 0

    def __enter__(self) -> None:
        with self._gate:
            self._gate.wait_for(self._open)
            if not self._inside:
                self.first()
                self._entered = 0
            self._inside += 1
            self._entered += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._gate:
            self._inside -= 1
            if not self._inside:
                self.last()
                self._gate.notify_all()

    def _open(self) -> bool:
        return not self._inside or self.most is None or self._entered < self.most
