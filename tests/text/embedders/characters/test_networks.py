"""LIWE and charGRU: sizes of the paper, padding and order."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from polyglance.text.embedders.characters.alphabet import PAD
from polyglance.text.embedders.characters.networks import LARGE, CharGRU, Liwe
from tests.text.embedders.characters.small import LENGTH, make, spell

KINDS = ["liwe", "chargru"]
WORDS = ["a", "dog", "dog", "fé", "abcdefghijkl", "狗", "Ж", "a"]


@pytest.mark.parametrize(
    ("layers", "weights"),
    [
        ((128, 256), 189_440),
        ((128, 384), 244_224),
        ((256, 256), 302_080),
        ((128, 512), 299_008),
        ((384, 384), 502_272),
        ((384, 448), 546_048),
        ((512, 512), 735_232),
        ((1024, 512), 1_316_864),
    ],
)
def test_golden_sizes(layers: tuple[int, int], weights: int) -> None:
    model = Liwe(101, layers)
    assert sum(layer.linear.weight.numel() for layer in model.layers) == weights
    rest = 101 * 24 + sum(4 * n for n in (*layers, 300))  # bias, norm's two, weight norm's scale
    assert sum(p.numel() for p in model.parameters()) == weights + rest


def test_golden_size_of_the_character_gru() -> None:
    model = CharGRU(101)
    assert sum(part.numel() for part in model.gru.parameters()) == 293_400
    assert sum(p.numel() for p in model.parameters()) == 293_400 + 101 * 24


def test_large_characters_make_wide_words() -> None:
    model = Liwe(101, (8, 8), char_dim=LARGE)
    assert model.layers[0].linear.weight.shape == (8, 3120)
    assert model.eval()(spell(["dog", "a"], 26)).shape == (2, 300)


def test_layers_by_hand() -> None:
    model = make("liwe").eval()
    with torch.no_grad():
        vectors = model.characters(spell(WORDS)).reshape(len(WORDS), -1)
        for layer in model.layers:
            norm, weight = layer.norm, layer.linear.parametrizations.weight
            direction = weight.original1 / weight.original1.norm(dim=1, keepdim=True)
            x = vectors @ (weight.original0 * direction).t() + layer.linear.bias
            x = (x - norm.running_mean) / (norm.running_var + 1e-5).sqrt() * norm.weight + norm.bias
            vectors = torch.where(x > 0, x, 0.1 * x)
        torch.testing.assert_close(model(spell(WORDS)), vectors)


def test_the_character_gru_is_torchs() -> None:
    model = make("chargru").eval()
    with torch.no_grad():
        for word in WORDS:
            row = spell([word])[:, : len(word)]
            states, _ = nn.GRU.forward(model.gru, model.characters(row))
            torch.testing.assert_close(model(spell([word])), states.amax(1))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(
    words=st.lists(st.text("abcé狗😀Жx", min_size=1, max_size=200), min_size=1, max_size=6),
    extra=st.integers(0, 4),
    data=st.data(),
)
def test_neither_padding_nor_company_changes_a_vector(
    kind: str, words: list[str], extra: int, data: st.DataObject
) -> None:
    model = make(kind).eval()
    order = data.draw(st.permutations(range(len(words))))
    with torch.no_grad():
        together = model(spell(words))
        shuffled = model(spell([words[i] for i in order] + [""] * extra))
        torch.testing.assert_close(shuffled[: len(words)], together[list(order)])
        for word, vector in zip(words, together, strict=True):
            narrow = spell([word], min(len(word), LENGTH))
            torch.testing.assert_close(model(narrow)[0], vector)
            torch.testing.assert_close(model(spell([word], LENGTH + extra))[0], vector)
    assert together.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_vector_of_padding_never_moves(kind: str) -> None:
    model = make(kind)
    model(spell(WORDS)).square().sum().backward()
    assert not model.characters.weight[PAD].any()
    assert not model.characters.weight.grad[PAD].any()
    compat = make(kind, pad_statistics=True)
    compat(spell(WORDS)).square().sum().backward()
    assert compat.characters.weight.grad[PAD].any()


@pytest.mark.parametrize("pad_statistics", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_word_once_is_every_occurrence(kind: str, pad_statistics: bool) -> None:
    occurrences = [*WORDS, "dog", "fé", "dog", "", ""]
    distinct = list(dict.fromkeys(occurrences))
    counts = torch.tensor([occurrences.count(word) for word in distinct])
    target = torch.randn(len(occurrences), 7, generator=torch.Generator().manual_seed(1))
    place = torch.tensor([distinct.index(word) for word in occurrences])
    every, once = make(kind, pad_statistics), make(kind, pad_statistics)
    kept = slice(None) if pad_statistics else slice(0, -2)
    # All occurrences through torch's own batch norm; padding only where it shall count.
    all_vectors = every(spell(occurrences[kept]))
    vectors = once(spell(distinct), counts)[place]
    torch.testing.assert_close(vectors[kept], all_vectors)
    (all_vectors * target[kept]).sum().backward()
    (vectors * target)[kept].sum().backward()
    for (name, mine), theirs in zip(once.named_parameters(), every.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-4, msg=name)
    for mine, theirs in zip(once.buffers(), every.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_one_word_in_training_is_finite() -> None:
    vectors = make("liwe")(spell(["dog"]))
    assert vectors.isfinite().all()
