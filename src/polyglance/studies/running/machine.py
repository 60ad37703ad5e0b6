"""Where a run was made, and by which code."""

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

import polyglance
from polyglance.errors import PolyglanceError

DIRTY = "-dirty"


@lru_cache(maxsize=1)
def cpu_model() -> str:
    """What the processor calls itself."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_size() -> str:
    """The memory of the machine, for people."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "an unknown amount"
    return f"{size / 2**30:.1f} GiB"


def commit() -> str:
    """The commit of the checkout that the package is run from, "" if it is not run from one.

    It ends in "-dirty" where a file of the package, new ones included, is not the commit's.
    Files elsewhere, such as reports, change no result.
    """
    folder = Path(polyglance.__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        found = _git(folder, "rev-parse", "--short=12", "HEAD").strip()
        changed = _git(folder, "status", "--porcelain", "--", ".").strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    return found + DIRTY * bool(changed)


def check_clean(folder: Path) -> None:
    """Raise if a report in a folder of the package's own checkout would not be of a commit.

    A folder that git ignores, or outside of the checkout, takes drafts.
    """
    found = commit()
    if not found.endswith(DIRTY):
        return
    home = Path(polyglance.__file__).parent
    root = Path(_git(home, "rev-parse", "--show-toplevel").strip()).resolve()
    inside = folder.resolve().is_relative_to(root)
    if inside and not _ignored(root, folder.resolve()):
        changed = _git(home, "status", "--porcelain", "--", ".").splitlines()[0][3:]
        raise PolyglanceError(
            f"{folder}: reports in the repository are made from clean commits, and {changed} is "
            "not committed; commit it, or give --out a folder outside of the repository"
        )


def _ignored(root: Path, folder: Path) -> bool:
    command = ["git", "-C", str(root), "check-ignore", "-q", str(folder / "report.md")]
    return subprocess.run(command, capture_output=True, timeout=10).returncode == 0


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, timeout=10, text=True).stdout
