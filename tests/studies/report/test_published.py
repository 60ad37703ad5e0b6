"""Published reports come out the same when they are laid out again from their JSON."""

from pathlib import Path

import pytest

from polyglance.studies.report import write_report
from polyglance.studies.report.regenerate import read_document

FOLDER = Path(__file__).parents[3] / "docs" / "studies"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
SUFFIXES = ("md", "html", "json")


@pytest.mark.parametrize("name", NAMES)
def test_a_report_made_again_is_the_published_one(name: str, tmp_path: Path) -> None:
    write_report(read_document(FOLDER / f"{name}.json"), tmp_path)
    for suffix in SUFFIXES:
        made, published = (folder / f"{name}.{suffix}" for folder in (tmp_path, FOLDER))
        assert made.read_text(encoding="utf-8") == published.read_text(encoding="utf-8")
