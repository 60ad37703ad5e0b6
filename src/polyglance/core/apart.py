"""A process of its own at the other end of a pipe, for what may end it."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any


class Apart:
    """Runs `target(pipe, *given)`; it starts when it is first needed, and again after its end."""

    def __init__(self, target: Callable[..., None], *given: Any) -> None:
        self.target, self.given = target, given
        self.process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def pipe(self) -> tuple[Connection, bool]:
        """This end of the pipe, and whether the process was only started now."""
        if self._pipe is not None and self.process is not None and self.process.is_alive():
            return self._pipe, False
        self.close()
        # A fork of a process with threads may hang.
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self.process = context.Process(target=self.target, args=(other, *self.given), daemon=True)
        self.process.start()
        other.close()
        return self._pipe, True

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
        if self._pipe is not None:
            self._pipe.close()
        self.process = self._pipe = None
