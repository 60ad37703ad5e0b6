"""The messages that the page explains are those of the source."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^    (?:error|note): (.+)$|^    (skipped .+)$", PAGE, re.M)


@pytest.fixture(scope="module")
def source():
    """All texts of the source, one a line: parts of a message that f-strings put together."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("src/**/*.py"))
    return "\n".join(
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_the_page_explains_many_messages():
    assert len(MESSAGES) > 35


@pytest.mark.parametrize("message", ["".join(found) for found in MESSAGES])
def test_messages_are_those_of_the_source(message, source):
    # A message may be put together from several texts: at a semicolon, or before a hint.
    parts = [part.strip(" :") for part in re.split(r"…|; | \(did you mean '", message)]
    parts = [part for part in parts if len(part.strip(" :;,.'()?")) > 2]
    assert parts
    assert [part for part in parts if part not in source] == []
