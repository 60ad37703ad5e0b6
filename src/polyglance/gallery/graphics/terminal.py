"""Detects the graphics protocol of a terminal."""

import os
import select
import sys
import time
from collections.abc import Callable, Mapping

from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError

VARIABLE = "POLYGLANCE_GRAPHICS"
"""Environment variable that sets the protocol, or `none`, if detection is wrong."""
PROTOCOLS = ("kitty", "iterm2", "sixel", "blocks", "none")
_KITTY = ("kitty", "ghostty")
_ITERM2 = ("iterm.app", "iterm2", "wezterm", "mintty")
_SIXEL = ("sixel", "mlterm", "foot", "contour", "yaft")
ANSWER_SECONDS = 0.3


def protocol(
    environment: Mapping[str, str] | None = None, ask: Callable[[], bool] | None = None
) -> str:
    """One of `PROTOCOLS`: from the environment, else from the terminal's response.

    In tmux and screen, which do not support the others, it is half blocks.

    Args:
        environment: variables; those of the process by default.
        ask: whether the terminal reports sixel support.
    """
    variables = os.environ if environment is None else environment
    if named := named_protocol(variables):
        return named
    term = variables.get("TERM", "").lower()
    names = [variables.get(key, "").lower() for key in ("TERM_PROGRAM", "LC_TERMINAL")]
    if term == "dumb":
        return "none"
    if term.startswith(("tmux", "screen")) or "TMUX" in variables:
        return "blocks"
    if "KITTY_WINDOW_ID" in variables or any(
        one in name for name in (term, *names) for one in _KITTY
    ):
        return "kitty"
    if any(name in _ITERM2 for name in names):
        return "iterm2"
    if any(one in term for one in _SIXEL) or (ask or knows_sixel)():
        return "sixel"
    return "blocks"


def named_protocol(environment: Mapping[str, str] | None = None) -> str | None:
    """The protocol that the environment sets, if any; an unknown one is an error.

    Args:
        environment: variables; those of the process by default.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(VARIABLE, "")
    if named and named.lower() not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise PolyglanceError(f"{VARIABLE}={printable(named)}: must be one of {known}")
    return named.lower() or None


def knows_sixel() -> bool:
    """Query the terminal's attributes (DA1): 4 among them means sixel."""
    try:
        import termios
        import tty

        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return False
        channel = sys.stdin.fileno()
        before = termios.tcgetattr(channel)
    except (ImportError, OSError, ValueError, termios.error):
        return False
    try:
        tty.setcbreak(channel, termios.TCSANOW)
        sys.stdout.write("\x1b[c")
        sys.stdout.flush()
        return "4" in _answer(channel).strip("\x1b[?c").split(";")[1:]
    finally:
        termios.tcsetattr(channel, termios.TCSANOW, before)


def _answer(channel: int) -> str:
    found, end = b"", time.monotonic() + ANSWER_SECONDS
    while not found.endswith(b"c") and (left := end - time.monotonic()) > 0:
        if select.select([channel], [], [], left)[0]:
            found += os.read(channel, 1)
    return found.decode("ascii", "replace")
