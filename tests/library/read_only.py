"""Commands that see a folder as on a read-only drive, root's too."""

import shutil
import subprocess
from pathlib import Path

import pytest

MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def read_only(folder: Path, *command: str) -> list[str]:
    """A command in which nobody can write to a folder; the test is skipped without such mounts."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no 'unshare'")
    found = ["unshare", "--mount", "sh", "-c", MOUNT, str(folder)]
    tried = subprocess.run([*found, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"read-only mounts are not permitted: {tried.stderr.strip()}")
    return [*found, *command]
