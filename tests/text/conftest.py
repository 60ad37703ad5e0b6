import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
