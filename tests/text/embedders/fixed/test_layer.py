"""Fixed vectors, through a translator where the language has one."""

import copy
import pickle

import numpy as np
import pytest
import torch

from polyglance.text.embedders.encoded import FIRST_UNSEEN, Unseen
from polyglance.text.embedders.fixed.layer import TranslatedWords

MATRIX = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
MATRIX[0] = 0
OWNERS = np.array([-1, 0, 0, 0, 1, 1])
TURN = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])


def make() -> TranslatedWords:
    torch.manual_seed(0)
    return TranslatedWords(MATRIX, OWNERS, {"en": False, "de": True})


def test_only_translated_languages_are_translated() -> None:
    layer = make()
    layer.initialise("de", TURN)
    found = layer(torch.arange(6)).detach()
    expected = torch.from_numpy(MATRIX).clone()
    expected[4:] = expected[4:] @ TURN.t()
    torch.testing.assert_close(found, expected)
    assert [name for name, _ in layer.named_parameters()] == [
        "translators.language_de.weight",
        "translators.language_de.bias",
    ]
    assert list(layer.state_dict()) == [name for name, _ in layer.named_parameters()]
    assert layer.fixed == 18


def test_words_of_a_call_belong_to_a_language_too() -> None:
    layer = make()
    layer.initialise("de", TURN)
    rows = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    unseen = Unseen({"vectors": rows, "owners": np.array([1, 0])})
    ids = torch.tensor([0, 1, 4, FIRST_UNSEEN, FIRST_UNSEEN + 1])
    found = layer(ids, None, unseen).detach()
    torch.testing.assert_close(found[:3], layer(ids[:3]).detach())
    torch.testing.assert_close(found[3], TURN @ torch.from_numpy(rows[0]))
    torch.testing.assert_close(found[4], torch.from_numpy(rows[1]))
    # Only some of a call's words may be in a batch.
    torch.testing.assert_close(layer(ids[4:], None, unseen).detach(), found[4:])


def test_the_authors_bias_stays() -> None:
    layer = make()
    layer.initialise("de", torch.eye(3), bias=True)
    bias = layer.translators["language_de"].bias
    assert 0 < bias.abs().max() <= 1 / np.sqrt(3)
    layer.initialise("de", torch.eye(3))
    assert not bias.any()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_their_own(copied) -> None:
    layer = make()
    before = layer(torch.arange(6)).detach()
    other = copied(layer)
    torch.testing.assert_close(other(torch.arange(6)).detach(), before, rtol=0, atol=0)
    other.initialise("de", TURN)
    torch.testing.assert_close(layer(torch.arange(6)).detach(), before, rtol=0, atol=0)
