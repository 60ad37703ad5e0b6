"""One error message from all processes: which one prints it, and what if one is gone."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from torch import distributed

from polyglance.errors import PolyglanceError
from polyglance.training.distributed.join import rendezvous_store

PEER_GONE = (
    "another process of this training has ended or cannot be reached, so this one stops, too; "
    "repeat the command with --resume to continue from the last checkpoint"
)
_TERMINATED = 143


@contextmanager
def single_error_message() -> Iterator[None]:
    """Let the first process that fails print its error; the others exit silently with code 2.

    Connection errors become a message that says what to do.
    """
    try:
        yield
    except PolyglanceError:
        _claim()
        raise
    except RuntimeError as error:
        if not is_connection_error(error):
            raise
        _claim()
        raise PolyglanceError(PEER_GONE) from None
    except SystemExit as end:
        if end.code != _TERMINATED:  # by torchrun, when another process has ended
            raise
        _claim()
        raise PolyglanceError(PEER_GONE) from None


def is_connection_error(error: RuntimeError) -> bool:
    """Whether an error is caused by the connection to another process."""
    if isinstance(error, distributed.DistError):
        return True
    signs = ("gloo", "nccl", "connection", "timed out", "socket")
    return any(sign in str(error).lower() for sign in signs)


def _claim() -> None:
    """Exit if another process has already printed an error."""
    # torchrun terminates all processes once one has ended; the message must not be cut off.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    printed = 1
    with suppress(RuntimeError):
        printed = distributed.PrefixStore("polyglance", rendezvous_store()).add("printed", 1)
    if printed > 1:
        sys.exit(2)
