"""The tutorial's own commands and code, in the page's order, on generated images.

`TUTORIAL_IMAGES=500` runs it at the page's size.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import polyglance

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
IMAGES = os.environ.get("TUTORIAL_IMAGES", "100")
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Ran:
    """What the page left behind: its folder, and what each of its blocks printed."""

    folder: Path
    printed: dict[str, str]

    def after(self, beginning):
        """What the block that begins so printed."""
        return next(text for block, text in self.printed.items() if block.startswith(beginning))


def blocks():
    """(kind, file to write or "", text) of every fence to be run or written."""
    for kind, title, text in FENCE.findall(PAGE):
        if title or kind in ("sh", "python"):
            yield kind, title, text


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the page, but for the installation: what is tested is installed."""
    folder = tmp_path_factory.mktemp("tutorial")
    program = folder / "bin" / "polyglance"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polyglance "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    printed = {}
    for kind, title, text in blocks():
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        elif not text.startswith("pip install"):
            text = text.replace("--photos 500", f"--photos {IMAGES}")
            command = ["sh", "-ec", text] if kind == "sh" else [sys.executable, "-c", text]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, encoding="utf-8"
            )
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            printed[text] = done.stdout
    return Ran(folder, printed)


def test_the_page_has_its_steps():
    kinds = [kind for kind, title, _ in blocks() if not title]
    assert kinds.count("sh") >= 7
    assert kinds.count("python") == 3


def test_all_images_are_counted_and_read(ran):
    shown = ran.after("polyglance data info")
    counts = [int(number) for number in re.findall(r"(\d+) (?:train|val|test)", shown)]
    assert sum(counts) == int(IMAGES)
    assert "unreadable images: none" in shown


def test_the_page_s_settings_are_enough_to_learn(ran):
    model = polyglance.load(ran.folder / "runs" / "mine")
    dataset = polyglance.load_dataset(str(ran.folder / "photos.csv"))
    cache = ran.folder / "cache" / "polyglance"
    report = polyglance.evaluate(model, dataset, "train", bootstrap=0, cache=cache)
    assert report.averages["all"].metrics.mr > 50


def test_results_are_written(ran):
    results = json.loads((ran.folder / "results.json").read_text(encoding="utf-8"))
    assert set(results["languages"]) == {"de", "en"}


def test_searches_find_as_many_as_asked_for(ran):
    lines = ran.after("polyglance search").splitlines()
    assert [line.split("\t")[2] for line in lines] == ["a yellow dog"] * 3 + ["ein gelber Hund"] * 3
    assert (ran.folder / "found.png").read_bytes().startswith(b"\x89PNG")


def test_french_is_added_and_the_others_stay(ran):
    shown = ran.after("polyglance add-language")
    assert "fr: 20 words" in shown
    assert "de, en: unchanged" in shown
    assert len(re.findall(r"^0\.\d+\t", shown, re.M)) == 3
    assert polyglance.load(ran.folder / "runs" / "mine-fr").languages == ["de", "en", "fr"]


def test_python_prints_what_the_page_says(ran):
    code = next(text for text in ran.printed if "encode_images" in text)
    lines = ran.printed[code].splitlines()
    assert "(2, 3)" in lines
    assert 0 <= float(lines[-1]) <= 100
    assert ran.after("import polyglance\nfrom polyglance.gallery").strip().endswith(".jpg")
