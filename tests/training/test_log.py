"""metrics.jsonl of runs that were killed, and of damaged ones."""

import json
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.training.log import FILE, RunLog, draw_curve
from tests.training.runs import run


def test_lines_past_the_resumed_update_and_torn_ones_are_dropped(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for update in (50, 100, 150):
        log.write(update, loss=1 / update)
    log.write(150, rsum=3.0, mr={"de": 1.5})
    log.close()
    with (tmp_path / FILE).open("a") as handle:
        handle.write('{"update": 200, "lo')
    again = RunLog(tmp_path, resumed_at=100)
    again.write(150, loss=0.5)
    again.close()
    rows = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert rows == [
        {"update": 50, "loss": 0.02},
        {"update": 100, "loss": 0.01},
        {"update": 150, "loss": 0.5},
    ]


def test_a_curve_is_drawn_of_losses_and_recalls(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    log = RunLog(tmp_path)
    draw_curve(tmp_path)
    empty = (tmp_path / "curve.png").read_bytes()
    log.write(50, loss=1.0)
    log.write(100, loss=0.5)
    log.write(100, rsum=3.0, mr={"de": 1.5, "en": 2.5})
    log.close()
    draw_curve(tmp_path)
    drawn = (tmp_path / "curve.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert drawn != empty


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"[]\n", "lacks the number 'update'"), (b"garbage\n", "line 1: not valid JSON")],
)
def test_a_damaged_log_is_refused(toy: Path, tmp_path: Path, data: bytes, message: str) -> None:
    run(toy, tmp_path / "run", "training.updates=2")
    (tmp_path / "run" / FILE).write_bytes(data)
    with pytest.raises(PolyglanceError, match=rf"{FILE}.*{message}"):
        run(toy, tmp_path / "run", "training.updates=2", resume=True)
