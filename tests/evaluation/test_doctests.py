import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["bootstrap", "metrics", "ranks", "similarity", "strict"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(import_module(f"polyglance.evaluation.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
