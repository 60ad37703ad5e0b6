"""Where and with what a study was run."""

import platform
from datetime import datetime
from pathlib import Path

import polyglance
from polyglance.studies.running.machine import commit, cpu_model, memory_size
from polyglance.studies.running.pool import cores


def machine_facts() -> list[tuple[str, str]]:
    """(name, value) pairs about the machine and the package."""
    return [
        ("machine", f"{cpu_model()}, {cores()} cores, {memory_size()} of memory"),
        ("date", datetime.now().strftime("%Y-%m-%d %H:%M")),
        ("polyglance", polyglance.__version__ + (f" (commit {c})" if (c := commit()) else "")),
        ("python", f"{platform.python_version()} on {platform.system()}"),
    ]


def shown_path(text: str) -> str:
    """A path for publication: absolute ones lose their folders."""
    path = Path(text)
    return f"…/{path.name}" if path.is_absolute() else text


def shown_change(text: str) -> str:
    """A `path=value` for publication."""
    field, _, value = text.partition("=")
    return f"{field}={shown_path(value)}"
