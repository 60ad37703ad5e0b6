"""A separate process behind a pipe, for work that may crash."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any


class ChildProcess:
    """Runs `target(pipe, *arguments)`; started on first use, and restarted if it has ended."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.target, self.arguments = target, arguments
        self.process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def pipe(self) -> tuple[Connection, bool]:
        """The parent's end of the pipe, and whether the process was just started."""
        if self._pipe is not None and self.process is not None and self.process.is_alive():
            return self._pipe, False
        self.close()
        # Forking a process with threads may deadlock.
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self.process = context.Process(
            target=self.target, args=(other, *self.arguments), daemon=True
        )
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
