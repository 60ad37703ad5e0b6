"""onnxruntime, which reports its use to its makers by default, does not here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, polyglance
import onnxruntime
onnxruntime.InferenceSession  # noqa: B018
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


@pytest.mark.parametrize("chosen", [None, "0"])
def test_telemetry_is_off_unless_the_user_wants_it(tmp_path: Path, chosen: str | None) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    if chosen is not None:
        environment["ORT_DISABLE_TELEMETRY"] = chosen
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (chosen or "1")
    if chosen is None:
        # Where it is on, onnxruntime 1.31 keeps a device id and its events here.
        assert not (tmp_path / "Microsoft").exists()
        assert not list(tmp_path.rglob("deviceid"))
