"""How much memory this process held at most, as the operating system counts it."""

import sys
from pathlib import Path

RESET_PEAK = "5"
"""What /proc/self/clear_refs takes to mean: forget the peak (proc(5))."""


def forget_peak() -> None:
    """Count from now on, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return


def peak_memory() -> int | None:
    """Bytes of memory at the peak, mapped files included; None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return _peak_of_process()


def _peak_of_process() -> int | None:
    """Since the start of the process, on systems without /proc."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
