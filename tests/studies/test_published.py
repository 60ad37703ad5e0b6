"""Published reports come out the same when they are laid out again."""

from pathlib import Path

import pytest

from polyglance.studies.report import write_report
from tests.studies.published import FOLDER, NAMES, rebuild


@pytest.mark.parametrize("name", NAMES)
def test_a_report_made_again_is_the_published_one(name: str, tmp_path: Path) -> None:
    write_report(rebuild(name, tmp_path / "runs"), tmp_path)
    made, published = (
        {suffix: (folder / f"{name}.{suffix}").read_text(encoding="utf-8") for suffix in SUFFIXES}
        for folder in (tmp_path, FOLDER)
    )
    for now, then in REWORDED.items():
        made = {suffix: text.replace(now, then) for suffix, text in made.items()}
    assert made["md"] == published["md"]
    assert without_space(made["html"]) == without_space(published["html"])
    assert made["json"] == published["json"]


SUFFIXES = ("md", "html", "json")
REWORDED = {"parameters that make words": "numbers trained to make words"}
"""What reports say now, and said when these were written."""


def without_space(page: str) -> list[str]:
    """Parts of a page, however they are spaced and quotation marks are escaped."""
    page = page.replace("&#39;", "&#x27;").replace("&#34;", "&quot;")
    return "".join(page.split()).replace("<", "\n<").splitlines()
