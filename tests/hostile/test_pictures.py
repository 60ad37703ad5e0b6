"""Every file is an RGB image or a reason why not; none runs a program, waits or fills memory."""

from pathlib import Path

from polyglance.data.images.read import read_image
from polyglance.data.info import find_unreadable
from tests.hostile.cases import more, outcome
from tests.hostile.pictures import picture_cases
from tests.hostile.watch import outside, watched

CASES = more(400)


def test_every_picture_is_read_or_refused(tmp_path: Path) -> None:
    refused = 0
    with watched() as events:
        for number, case in enumerate(picture_cases(CASES)):
            folder = tmp_path / str(number)
            said = outcome(case, lambda path: read_image(path, 64), folder)
            found = find_unreadable({"it": next(folder.iterdir(), folder / "a.jpg")}, 1, False)
            if case.refused:
                assert found, case.name
            refused += bool(said)
    assert not outside(events, tmp_path, Path("/nowhere"))
    assert refused > CASES // 4
