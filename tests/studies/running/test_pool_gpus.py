"""Workers side by side have GPUs of their own; here torch only pretends to have any."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from polyglance.studies.running import pool as pool_module
from polyglance.studies.running.pool import FAILED, START, Pool
from polyglance.studies.running.worker import Task

WORKER = """
import json, os, sys, time
for line in sys.stdin:
    time.sleep(0.2)  # so that no worker takes all tasks
    print(json.dumps({"reason": os.environ.get("CUDA_VISIBLE_DEVICES", "any")}), flush=True)
"""


def tasks(folder: Path, count: int, device: str) -> list[Task]:
    return [Task(str(folder / str(n)), {}, "", "test", [], device=device) for n in range(count)]


def seen(
    monkeypatch: pytest.MonkeyPatch, folder: Path, gpus: int, jobs: int, device: str = "auto"
) -> set[str]:
    """The GPUs that workers of a pool say they see."""
    real = pool_module.subprocess.Popen

    def start(command: Sequence[str], **options: object) -> object:
        return real([sys.executable, "-c", WORKER], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(pool_module.subprocess, "Popen", start)
    monkeypatch.setattr(pool_module, "count_devices", lambda kind: gpus)
    with Pool(tasks(folder, 2 * jobs, device), jobs) as pool:
        events = [event for event in pool.events() if event is not None]
    return {reason.removeprefix(FAILED) for _, reason in events if reason != START}


@pytest.mark.parametrize(
    ("gpus", "jobs", "device", "expected"),
    [
        (3, 3, "auto", {"0", "1", "2"}),
        (4, 2, "cuda", {"0", "1"}),
        (2, 3, "auto", {"0", "1"}),
        (1, 2, "auto", {"any"}),
        (2, 1, "auto", {"any"}),
        (2, 2, "cuda:1", {"any"}),
        (2, 2, "cpu", {"any"}),
    ],
)
def test_each_job_has_its_gpu(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    gpus: int,
    jobs: int,
    device: str,
    expected: set[str],
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert seen(monkeypatch, tmp_path, gpus, jobs, device) == expected


def test_gpus_that_were_given_are_shared_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, 7")
    assert seen(monkeypatch, tmp_path, 2, 2) == {"5", "7"}
    assert json.dumps(pool_module.visible_gpus()) == '["5", "7"]'
