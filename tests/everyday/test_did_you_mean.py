"""`polyglance search` and words that the model does not know."""

from collections.abc import Callable
from pathlib import Path


def test_another_spelling_is_named(run: Callable, pictures: Path) -> None:
    assert "note: did you mean 'red snow'?" in run("search", pictures, "red snwo").stderr
    assert "did you mean" not in run("search", pictures, "red snow").stderr
    assert "did you mean" not in run("search", pictures, "red xylophone").stderr
