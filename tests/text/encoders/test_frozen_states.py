"""States of frozen layers are computed once, in any number of trainings, and as they are kept."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from polyglance.errors import PolyglanceError
from polyglance.text.encoders.frozen_states import KEYS, STATES, FrozenStates

IDS = torch.tensor([[1, 2, 9], [3, 8, 8], [1, 2, 3]])
LENGTHS = torch.tensor([2, 1, 3])
WANTED = [[3.0, 2.0], [3.0, 1.0], [6.0, 3.0]]


class Layers:
    """Sums of ids, and what was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, ids: Tensor, lengths: Tensor) -> Tensor:
        texts = [row[:count] for row, count in zip(ids.tolist(), lengths.tolist(), strict=True)]
        self.asked += texts
        return torch.tensor([[float(sum(text)), float(len(text))] for text in texts])


def test_each_text_is_computed_once(tmp_path: Path) -> None:
    layers, states = Layers(), FrozenStates(10, 2, tmp_path)
    assert states.look_up(IDS[:2], LENGTHS[:2], layers).tolist() == WANTED[:2]
    assert states.look_up(IDS, LENGTHS, layers).tolist() == WANTED
    assert layers.asked == [[1, 2], [3], [1, 2, 3]]
    assert states.look_up(IDS[[2, 0]], LENGTHS[[2, 0]], layers).tolist() == [WANTED[2], WANTED[0]]
    assert len(layers.asked) == len(states) == 3


def test_duplicate_texts_of_a_batch_are_computed_once(tmp_path: Path) -> None:
    layers, states = Layers(), FrozenStates(10, 2, tmp_path)
    twice = states.look_up(IDS[[2, 1, 2]], LENGTHS[[2, 1, 2]], layers)
    assert twice.tolist() == [WANTED[2], WANTED[1], WANTED[2]]
    assert layers.asked == [[1, 2, 3], [3]]


def test_another_training_finds_them(tmp_path: Path) -> None:
    FrozenStates(10, 2, tmp_path / "new").look_up(IDS, LENGTHS, Layers())
    layers, again = Layers(), FrozenStates(10, 2, tmp_path / "new")
    assert len(again) == 3
    assert again.look_up(IDS, LENGTHS, layers).tolist() == WANTED
    assert not layers.asked


def test_texts_beyond_the_limit_are_computed_each_time(tmp_path: Path) -> None:
    layers, states = Layers(), FrozenStates(1, 2, tmp_path)
    for _ in range(2):
        assert states.look_up(IDS, LENGTHS, layers)[:, 0].tolist() == [3, 3, 6]
    assert len(states) == len(FrozenStates(1, 2, tmp_path)) == 1
    assert layers.asked == [[1, 2], [3], [1, 2, 3], [3], [1, 2, 3]]


def test_states_are_rounded_as_they_are_kept(tmp_path: Path) -> None:
    def third(ids: Tensor, lengths: Tensor) -> Tensor:
        return torch.full((len(ids), 1), 1 / 3)

    states = FrozenStates(9, 1, tmp_path)
    first = states.look_up(IDS, LENGTHS, third)
    assert first.unique().tolist() == [float(np.float16(1 / 3))]
    assert torch.equal(first, states.look_up(IDS, LENGTHS, third))


def test_two_trainings_share_a_folder(tmp_path: Path) -> None:
    one, other = (FrozenStates(9, 2, tmp_path) for _ in range(2))
    one.look_up(IDS[:1], LENGTHS[:1], Layers())
    other.look_up(IDS[1:], LENGTHS[1:], Layers())
    layers = Layers()
    assert one.look_up(IDS, LENGTHS, layers).tolist() == WANTED
    assert layers.asked == [[3], [1, 2, 3]]  # what the other one kept was not read before
    third = FrozenStates(9, 2, tmp_path)
    assert len(third) == 3
    assert third.look_up(IDS, LENGTHS, Layers()).tolist() == WANTED


@pytest.mark.parametrize(("file", "lost"), [(STATES, 3), (KEYS, 20)])
def test_a_torn_end_is_written_over(tmp_path: Path, file: str, lost: int) -> None:
    FrozenStates(9, 2, tmp_path).look_up(IDS, LENGTHS, Layers())
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(data[:-lost])
    layers, states = Layers(), FrozenStates(9, 2, tmp_path)
    assert states.look_up(IDS, LENGTHS, layers).tolist() == WANTED
    assert [1, 2, 3] in layers.asked
    assert [1, 2] not in layers.asked
    assert FrozenStates(9, 2, tmp_path).look_up(IDS, LENGTHS, Layers()).tolist() == WANTED
    assert (tmp_path / file).read_bytes() == data


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    states = FrozenStates(9, 2, tmp_path / "file" / "below")
    with pytest.raises(PolyglanceError, match=r"cannot be written.*text\.encoder\.cached=0"):
        states.look_up(IDS, LENGTHS, Layers())


def test_many_texts(tmp_path: Path) -> None:
    layers, states = Layers(), FrozenStates(5000, 2, tmp_path)
    ids = torch.arange(2000).unsqueeze(1)
    ones = torch.ones(2000, dtype=torch.long)
    for some in ids.split(700):
        states.look_up(some, ones[: len(some)], layers)
    assert states.look_up(ids, ones, layers)[:, 0].tolist() == list(range(2000))
    assert len(layers.asked) == 2000
