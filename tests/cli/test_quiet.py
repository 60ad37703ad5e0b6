"""Commands print what they have to say, and nothing of the libraries they use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

NOISY = """
import logging, warnings
from polyglance import cli
from polyglance.errors import PolyglanceWarning

@cli.app.command("noisy")
def noisy():
    warnings.warn("a library's")
    warnings.warn("numbers", RuntimeWarning)
    logging.getLogger("library").warning("logged")
    warnings.warn("ours", PolyglanceWarning)

import sys
sys.argv = ["polyglance", "noisy"]
cli.main()
"""


@pytest.mark.parametrize("options", [[], ["-W", "default"]])
def test_warnings_of_libraries_are_shown_on_request(options):
    command = [sys.executable, *options, "-c", NOISY]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=True)
    assert "note: ours\n" in done.stderr
    assert ("a library's" in done.stderr) is bool(options)
    assert "logged" not in done.stderr
    if not options:
        assert done.stderr == "note: ours\n"


def test_odd_images_make_no_noise(shell, tmp_path: Path):
    """Images that make Pillow warn: damaged EXIF, a palette with transparency, a cut TIFF."""
    plain = Image.new("RGB", (8, 8), "red")
    plain.save(tmp_path / "exif.jpg", exif=b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01")
    palette = plain.convert("P")
    palette.save(tmp_path / "palette.png", transparency=bytes([0, 128]))
    plain.save(tmp_path / "cut.tif")
    data = (tmp_path / "cut.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(data[:-40])
    table = tmp_path / "t.csv"
    names = ("exif.jpg", "palette.png", "cut.tif")
    rows = "".join(f"{name},a square,en\n" for name in names)
    table.write_text(f"path,caption,language\n{rows}")
    done = shell("data", "info", table)
    assert done.returncode == 0
    assert done.stderr == ""
