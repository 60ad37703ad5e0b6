"""Peak memory of this process, as reported by the operating system."""

import sys
from pathlib import Path

RESET_PEAK = "5"
"""Written to /proc/self/clear_refs to reset the peak (proc(5))."""


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
