"""Tokens of all languages, against one token at a time."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.text.embedders.universal.layer import StoredWords, UniversalWords
from polyglance.text.embedders.universal.layout import Layout

LAYOUT = Layout(2, {"de": 3, "en": 1, "to": 2})


def make(layout: Layout = LAYOUT, mask: bool = True, only: str = "") -> UniversalWords:
    torch.manual_seed(0)
    return UniversalWords(layout, 4, 5, mask, only)


def one_by_one(layer: UniversalWords, layout: Layout, token: int) -> torch.Tensor:
    if token == 0:
        return torch.zeros(5)
    if token == layout.total:
        return layer.mask
    if token <= layout.latent:
        return layer.latent[token - 1]
    code = next(c for c, (start, end) in layout.own_ranges.items() if start <= token < end)
    name = f"language_{code}"
    row = layer.tables[name].weight[token - layout.own_ranges[code][0]]
    return layer.projections[name].weight @ row + layer.projections[name].bias


LAYOUTS = st.builds(
    Layout, st.integers(0, 3), st.dictionaries(st.sampled_from("abc"), st.integers(0, 3))
)


@given(LAYOUTS, st.data())
def test_every_token_is_what_it_is_alone(layout: Layout, data: st.DataObject) -> None:
    layer = make(layout)
    ids = sorted(data.draw(st.sets(st.integers(0, layout.total), min_size=1)))
    found = layer(torch.tensor(ids))
    expected = torch.stack([one_by_one(layer, layout, token) for token in ids])
    torch.testing.assert_close(found, expected)


def test_one_language_alone() -> None:
    layout = Layout(0, {"de": 3, "en": 2})
    layer = make(layout, only="en")
    assert [name for name, _ in layer.named_parameters() if "tables" in name] == [
        "tables.language_en.weight"
    ]
    ids = torch.tensor([0, *range(*layout.own_ranges["en"]), layout.total])
    expected = torch.stack([one_by_one(layer, layout, int(token)) for token in ids])
    torch.testing.assert_close(layer(ids), expected)


def test_vectors_to_start_from() -> None:
    layer = make()
    own = {code: np.random.rand(n, 4).astype(np.float32) for code, n in LAYOUT.own.items()}
    latent = np.random.rand(2, 5).astype(np.float32)
    layer.initialise(own, latent)
    for code, table in zip(LAYOUT.own, layer.own_tables(), strict=True):
        np.testing.assert_array_equal(table.detach().numpy(), own[code])
    np.testing.assert_array_equal(layer.latent.detach().numpy(), latent)


def test_frozen_words_get_no_gradient_and_layers_do() -> None:
    layer = make()
    layer.freeze(True)
    layer(torch.arange(LAYOUT.total + 1)).sum().backward()
    assert all(table.grad is None for table in (*layer.own_tables(), layer.latent))
    assert layer.projections["language_to"].weight.grad.any()
    layer.freeze(False)
    layer(torch.arange(LAYOUT.total + 1)).sum().backward()
    assert all(table.grad.any() for table in (*layer.own_tables(), layer.latent))


def test_averages_over_padding() -> None:
    layer = make()
    averages, counts = torch.randn(3, 5), torch.tensor([2, 4, 1])
    languages = torch.tensor([1, 0, 2])
    assert layer.pad_averages(averages, counts, languages) is averages
    layer.add_padding(10)
    found = layer.pad_averages(averages, counts, languages)
    for row, (code, count) in enumerate((("en", 2), ("de", 4), ("to", 1))):
        # A row of zeros, which training moves, through the language's layer: its bias.
        bias = layer.projections[f"language_{code}"].bias
        torch.testing.assert_close(found[row], averages[row] + (10 - count) / count * bias)


@pytest.mark.parametrize("first", [1, 3])
def test_stored_words_are_those_computed(first: int) -> None:
    layer = make(mask=False)
    stored = StoredWords(first, LAYOUT.total - first, 5)
    stored.store(layer)
    ids = torch.arange(first, LAYOUT.total)
    torch.testing.assert_close(stored(ids), layer(ids).detach())
    assert not stored(torch.tensor([0])).any()
    assert stored.fixed == 5 * (LAYOUT.total - first + 1)
    assert not list(stored.parameters())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_their_own(copied) -> None:
    layer, ids = make(), torch.arange(LAYOUT.total)
    other = copied(layer)
    before = layer(ids).detach()
    torch.testing.assert_close(other(ids).detach(), before, rtol=0, atol=0)
    with torch.no_grad():
        other.latent.add_(1)
    torch.testing.assert_close(layer(ids).detach(), before, rtol=0, atol=0)
