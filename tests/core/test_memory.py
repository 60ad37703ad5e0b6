"""Whether freed memory is kept, measured in page faults of a process of its own."""

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
from polyglance.core.memory import keep_freed_memory
print(keep_freed_memory() if sys.argv[1] == "keep" else None)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    before = faults()
    blocks = [bytearray(40_000_000) for _ in range(3)]
    del blocks
print(faults() - before)
"""
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")


def run(how: str, **variables: str) -> tuple[str, int]:
    given = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how],
        env=given | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    result, faults = done.stdout.split()
    return result, int(faults)


@glibc
def test_large_blocks_are_reused() -> None:
    kept, faults = run("keep")
    assert kept == "True"
    assert faults < run("default")[1] / 10


@glibc
@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_the_users_own_settings_are_left_alone(name: str) -> None:
    value = "2" if name.startswith("MALLOC") else "glibc.malloc.arena_max=2"
    assert run("keep", **{name: value})[0] == "False"
