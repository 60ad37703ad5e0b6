"""The machine and the code version of a run."""

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
    """The processor's model name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def memory_size() -> str:
    """The machine's memory, as text."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "an unknown amount"
    return f"{size / 2**30:.1f} GiB"


def commit() -> str:
    """The commit of the checkout that the package runs from, "" if it is not a checkout.

    It ends in "-dirty" if a file of the package was changed or added. Other files, such as reports,
    do not affect results.
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
    """Raise if a report in the package's own checkout would not correspond to a commit.

    Folders that git ignores, or outside of the checkout, may have drafts.
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
            f"{folder}: reports in the repository must be made from clean commits, but {changed} "
            "is not committed; commit it, or use an --out folder outside of the repository"
        )


def _ignored(root: Path, folder: Path) -> bool:
    command = ["git", "-C", str(root), "check-ignore", "-q", str(folder / "report.md")]
    return subprocess.run(command, capture_output=True, timeout=10).returncode == 0


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, timeout=10, text=True).stdout
