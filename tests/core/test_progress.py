"""Progress in a log."""

import pytest

from polyglance.core import progress
from polyglance.core.progress import Bar


@pytest.mark.parametrize(("total", "rest"), [(8, "3/8 1.0 img/s, 5 s left"), (None, "3 1.0 img/s")])
def test_lines(
    total: int | None,
    rest: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Bar("embed", total, "img") as bar:
        now[0] = 3.0
        bar.advance(3)
    assert capsys.readouterr().err == f"embed {rest}\n"
