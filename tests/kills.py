"""Killing a piece of work at each of its steps on the file system, as `kill -9` would."""

import os
import resource
import signal
import sys
from collections.abc import Callable

STEPS = {
    "open",
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "shutil.copyfile",
    "shutil.rmtree",
    "tempfile.mkdtemp",
    "tempfile.mkstemp",
}
"""Audit events at which a child may be killed; `open` only for writing."""


def killed_at(step: int, work: Callable[[], object], largest_file: int | None = None) -> bool:
    """Do the work in a child that dies at its step number `step`; whether it came that far.

    Args:
        step: from 0; nothing that the child would do later happens, no cleaning up either.
        work: changes files.
        largest_file: bytes; the child also dies in the midst of writing a larger one.
    """
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            _die_at(step)
            if largest_file is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9, -signal.SIGXFSZ), code
    return code != 0


def _die_at(step: int) -> None:
    left = [step]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in STEPS:
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE):
            return
        if not left[0]:
            os._exit(9)
        left[0] -= 1

    sys.addaudithook(hook)


def every_kill(work: Callable[[], object], check: Callable[[], object]) -> int:
    """Kill the work at its first step, at its second, … until it ends; `check` after each kill."""
    step = 0
    while killed_at(step, work):
        check()
        step += 1
    return step
