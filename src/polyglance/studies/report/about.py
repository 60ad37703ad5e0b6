"""Where and with what a study was run."""

import os
import platform
import subprocess
from datetime import datetime
from pathlib import Path

import polyglance
from polyglance.studies.pool import cores


def about_machine() -> list[tuple[str, str]]:
    """(what, value) of the machine and the package."""
    return [
        ("machine", f"{_cpu()}, {cores()} cores, {_memory()} of memory"),
        ("date", datetime.now().strftime("%Y-%m-%d %H:%M")),
        ("polyglance", polyglance.__version__ + (f" (commit {c})" if (c := _commit()) else "")),
        ("python", f"{platform.python_version()} on {platform.system()}"),
    ]


def shown_path(text: str) -> str:
    """A path as it may be published: absolute ones lose their folders."""
    path = Path(text)
    return f"…/{path.name}" if path.is_absolute() else text


def shown_change(text: str) -> str:
    """A `path=value` as it may be published."""
    field, _, value = text.partition("=")
    return f"{field}={shown_path(value)}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "an unknown amount"
    return f"{size / 2**30:.1f} GiB"


def _commit() -> str:
    """The commit of the checkout that the package is run from, if it is."""
    folder = Path(polyglance.__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude", "*"]
    tracked = ["git", "-C", str(folder), "ls-files", "--error-unmatch", "__init__.py"]
    try:
        subprocess.run(tracked, check=True, capture_output=True, timeout=10)
        found = subprocess.run(command, check=True, capture_output=True, timeout=10, text=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
