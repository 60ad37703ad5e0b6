"""Memory of this process: its peak, and whether freed memory goes back to the operating system."""

import ctypes
import os
import sys
from pathlib import Path

RESET_PEAK = "5"
"""Written to /proc/self/clear_refs to reset the peak (proc(5))."""

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4
"""Parameters of glibc's mallopt (mallopt(3))."""
GROWTH = 256 * 2**20
"""Bytes by which the heap grows at once."""
SETTINGS = ("MALLOC_", "GLIBC_TUNABLES")
"""Beginnings of environment variables with which the user sets these parameters."""


def keep_freed_memory() -> bool:
    """Let this process reuse freed memory instead of returning it to the operating system.

    By default, glibc maps every large block anew, and the kernel clears its pages again. Returns
    whether it was possible; it has no effect with another C library, or if the user has set
    allocation parameters with environment variables.
    """
    if sys.platform != "linux" or any(name.startswith(SETTINGS) for name in os.environ):
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return False
    values = {MMAP_MAX: 0, TRIM_THRESHOLD: -1, TOP_PAD: GROWTH}
    accepted = [libc.mallopt(name, value) for name, value in values.items()]
    return all(accepted)


def reset_peak_memory() -> None:
    """Reset the peak, if the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return


def peak_memory() -> int | None:
    """Peak memory in bytes, including mapped files; None if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return _peak_of_process()


def _peak_of_process() -> int | None:
    """Peak since the process started, for systems without /proc."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
