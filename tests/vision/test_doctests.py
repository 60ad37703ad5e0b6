import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["store", "features", "external"])
def test_examples(name):
    module = importlib.import_module(f"polyglance.vision.{name}")
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
