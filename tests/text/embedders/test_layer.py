"""Layers of words: a distinct word once, unseen ones apart."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.embedders.encoded import FIRST_UNSEEN, TextBatch, Unseen
from polyglance.text.embedders.layer import FIRST_ADDED, AddedRows, WordLayer, split_unseen
from polyglance.text.embedders.table_layer import WordTable


class Watched(WordTable):
    """A table that tells what it was asked."""

    def forward(self, ids, counts=None, unseen=None):
        self.asked = ids.tolist(), counts.tolist()
        return super().forward(ids)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5))
def test_every_distinct_word_once_and_all_in_their_places(rows: list[list[int]]) -> None:
    layer, ids = Watched(10, 2), torch.tensor(rows)
    vectors, index = layer.look_up(TextBatch(ids, torch.full((len(rows),), 3)), None)
    torch.testing.assert_close(vectors[index], layer.weight[ids])
    distinct, counts = layer.asked
    assert distinct == sorted({i for row in rows for i in row})
    assert counts == [sum(row.count(i) for row in rows) for i in distinct]


@given(st.lists(st.integers(0, 5) | st.integers(FIRST_UNSEEN, FIRST_UNSEEN + 3)))
def test_unseen_words_apart(values: list[int]) -> None:
    ids = torch.tensor(values, dtype=torch.int64)
    unseen = Unseen({"characters": np.zeros((4, 2))})
    known, new = split_unseen(ids, unseen)
    assert known.tolist() == [0 if value >= FIRST_UNSEEN else value for value in values]
    if any(value >= FIRST_UNSEEN for value in values):
        assert new.tolist() == [value >= FIRST_UNSEEN for value in values]
    else:
        assert new is None
    assert split_unseen(ids, None) == (ids, None)


def test_added_rows_of_several_languages_in_one_batch() -> None:
    layer = Watched(6, 2)
    added = AddedRows({"nl": (FIRST_ADDED, 2), "to": (FIRST_ADDED + 2, 1)}, 2)
    with torch.no_grad():
        for number, table in enumerate(added.tables.values()):
            table.fill_(number + 1)
    ids = torch.tensor([[4, FIRST_ADDED + 1, FIRST_ADDED + 2], [5, FIRST_ADDED, 0]])
    vectors, index = layer.look_up(TextBatch(ids, torch.tensor([3, 2])), added)
    found = vectors[index]
    torch.testing.assert_close(found[0, 0], layer.weight[4])
    torch.testing.assert_close(found[1, 0], layer.weight[5])
    assert found[0, 1:].tolist() == [[1, 1], [2, 2]]
    assert found[1, 1].tolist() == [1, 1]
    assert layer.asked == ([4, 5], [1, 1])
    assert [name for name, _ in added.named_parameters()] == [
        "tables.language_nl",
        "tables.language_to",
    ]


def test_a_plain_layer() -> None:
    layer = WordLayer(3)
    assert (layer.dim, layer.fixed, layer.own_tables()) == (3, 0, [])
    layer.freeze(True)
    averages = torch.ones(2, 3)
    assert layer.pad_averages(averages, torch.ones(2), torch.zeros(2)) is averages
    with pytest.raises(TypeError, match="defines forward"):
        layer(torch.tensor([1]))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_their_own(copied) -> None:
    added = AddedRows({"nl": (FIRST_ADDED, 2)}, 2)
    for layer in (WordTable(4, 2), added):
        other = copied(layer)
        before = {name: value.clone() for name, value in layer.state_dict().items()}
        with torch.no_grad():
            for value in other.parameters():
                value.add_(1)
        assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
