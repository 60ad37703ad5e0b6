"""Commits named in the documentation can be looked up."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {"7d6634b": "docs/evaluation.md, of Crisscrossed Captions' own repository"}
HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,8}\b")
SQUASHED = re.compile(r"\bcommit ([0-9a-f]{7,8}) \(squashed into")


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )


def test_named_commits_exist() -> None:
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("needs a complete git history")
    unknown = []
    for page in PAGES:
        text = page.read_text("utf-8")
        gone = {*SQUASHED.findall(text), *ELSEWHERE}
        named = {one for one in HASH.findall(text) if one not in gone}
        unknown += [
            f"{page.relative_to(ROOT)}: {one}"
            for one in sorted(named)
            if git("cat-file", "-e", f"{one}^{{commit}}").returncode
        ]
    assert not unknown
