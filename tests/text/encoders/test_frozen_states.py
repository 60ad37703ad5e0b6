"""States of frozen layers are computed once, and are what the layers give."""

import torch
from torch import Tensor

from polyglance.text.encoders.frozen_states import FrozenStates

IDS = torch.tensor([[1, 2, 9], [3, 8, 8], [1, 2, 3]])
LENGTHS = torch.tensor([2, 1, 3])


class Layers:
    """Sums of ids, and what was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, ids: Tensor, lengths: Tensor) -> Tensor:
        texts = [row[:count] for row, count in zip(ids.tolist(), lengths.tolist(), strict=True)]
        self.asked += texts
        return torch.tensor([[float(sum(text)), float(len(text))] for text in texts])


def test_each_text_is_computed_once() -> None:
    layers, states = Layers(), FrozenStates(10, 2)
    wanted = [[3.0, 2.0], [3.0, 1.0], [6.0, 3.0]]
    assert states.look_up(IDS[:2], LENGTHS[:2], layers, keep=True).tolist() == wanted[:2]
    assert states.look_up(IDS, LENGTHS, layers, keep=True).tolist() == wanted
    assert layers.asked == [[1, 2], [3], [1, 2, 3]]
    assert states.look_up(IDS[[2, 0]], LENGTHS[[2, 0]], layers, keep=True).tolist() == [
        wanted[2],
        wanted[0],
    ]
    assert len(layers.asked) == len(states) == 3


def test_what_has_no_room_is_computed_each_time() -> None:
    layers, states = Layers(), FrozenStates(1, 2)
    for _ in range(2):
        assert states.look_up(IDS, LENGTHS, layers, keep=True)[:, 0].tolist() == [3, 3, 6]
    assert len(states) == 1
    assert layers.asked == [[1, 2], [3], [1, 2, 3], [3], [1, 2, 3]]


def test_nothing_is_kept_unasked() -> None:
    layers, states = Layers(), FrozenStates(9, 2)
    states.look_up(IDS, LENGTHS, layers, keep=False)
    assert len(states) == 0


def test_many_texts_outgrow_the_first_room() -> None:
    layers, states = Layers(), FrozenStates(5000, 2)
    ids = torch.arange(3000).unsqueeze(1)
    states.look_up(ids, torch.ones(3000, dtype=torch.long), layers, keep=True)
    found = states.look_up(ids, torch.ones(3000, dtype=torch.long), layers, keep=True)
    assert found[:, 0].tolist() == list(range(3000))
    assert len(layers.asked) == 3000
