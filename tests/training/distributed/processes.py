"""Starting several processes with torchrun."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def torchrun(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a script, or with "-m" a module, in two processes of one thread each."""
    with start(*arguments) as process:
        output, errors = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def start(*arguments: str) -> "subprocess.Popen[str]":
    """The same, without waiting."""
    given = dict(os.environ)
    paths = [str(ROOT), str(ROOT / "src"), given.get("PYTHONPATH", "")]
    given |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.Popen(
        [*command, "--nproc-per-node=2", *arguments],
        env=given,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def process_of(torchrun: int, rank: int) -> int:
    """The process of a rank, among those that the process `torchrun` has started."""
    children = Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()
    for child in children:
        if f"RANK={rank}" in Path(f"/proc/{child}/environ").read_text().split("\0"):
            return int(child)
    raise AssertionError(f"no process of rank {rank} among {children}")
