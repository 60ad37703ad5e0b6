"""One message for all processes: which of them speaks, and what is said when one is gone."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from torch import distributed

from polyglance.errors import PolyglanceError
from polyglance.training.distributed.join import meeting_point

GONE = (
    "another process of this training has ended or cannot be reached, so this one ends, too; "
    "repeat the command with --resume to continue from the last checkpoint"
)
_TERMINATED = 143


@contextmanager
def speaking() -> Iterator[None]:
    """Let the first process that fails say why; the others end without a word, with code 2.

    Errors of a connection become one that says what to do.
    """
    try:
        yield
    except PolyglanceError:
        _claim()
        raise
    except RuntimeError as error:
        if not lost(error):
            raise
        _claim()
        raise PolyglanceError(GONE) from None
    except SystemExit as end:
        if end.code != _TERMINATED:  # by torchrun, when another process has ended
            raise
        _claim()
        raise PolyglanceError(GONE) from None


def lost(error: RuntimeError) -> bool:
    """Whether an error is of a connection to another process."""
    if isinstance(error, distributed.DistError):
        return True
    signs = ("gloo", "nccl", "connection", "timed out", "socket")
    return any(sign in str(error).lower() for sign in signs)


def _claim() -> None:
    """End this process if another has spoken already."""
    # What is said must not be cut off by torchrun, which ends all once one has ended.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    spoken = 1
    with suppress(RuntimeError):
        spoken = distributed.PrefixStore("polyglance", meeting_point()).add("spoken", 1)
    if spoken > 1:
        sys.exit(2)
