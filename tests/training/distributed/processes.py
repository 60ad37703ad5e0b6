"""Starting several processes with torchrun."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def torchrun(
    *arguments: str, ranks: int = 2, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a script, or with "-m" a module, in several processes of one thread each.

    Args:
        arguments: of torchrun, from the script on.
        ranks: how many processes.
        environment: in place of this process's.
    """
    given = dict(os.environ if environment is None else environment)
    paths = [str(ROOT), str(ROOT / "src"), given.get("PYTHONPATH", "")]
    given |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*start, f"--nproc-per-node={ranks}", *arguments]
    return subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, check=False)
