import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.recipes import load_recipe
from polyglance.recipes.schema import CompatRecipe, TextRecipe
from polyglance.text.encoders.self_attention import SelfAttention
from polyglance.text.encoders.tower import TextTower

ENCODER = SelfAttentionRecipe(hidden=10, heads=2, head_dim=3)
RECIPE = TextRecipe(
    embedder=TableEmbedderRecipe(word_dim=6),
    encoder=ENCODER,
    pooling="max",
)


def layer(recipe: SelfAttentionRecipe = ENCODER) -> SelfAttention:
    torch.manual_seed(0)
    return SelfAttention(6, recipe).eval()


def by_hand(module: SelfAttention, vectors: torch.Tensor) -> torch.Tensor:
    """Word by word and head by head, for one caption [T, 6]."""
    weight, bias = module.project.weight, module.project.bias
    parts = (vectors @ weight.t() + bias).split(6, dim=1)  # queries, keys, values of both heads
    heads = []
    for head in range(2):
        queries, keys, values = (part[:, 3 * head : 3 * head + 3] for part in parts)
        attention = torch.softmax(queries @ keys.t() / math.sqrt(3), dim=1)
        heads.append(attention @ values)
    joined = torch.cat(heads, 1) @ module.join.weight.t() + module.join.bias + vectors
    normed = (joined - joined.mean(1, keepdim=True)) / torch.sqrt(
        joined.var(1, keepdim=True, correction=0) + module.norm.eps
    )
    inner = torch.relu(normed @ module.widen.weight.t() + module.widen.bias)
    return inner @ module.last.weight.t() + module.last.bias


@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 9))
def test_attention_is_the_formula_and_padding_does_not_count(length, padding, seed):
    module = layer()
    vectors = torch.randn(length, 6, generator=torch.Generator().manual_seed(seed))
    padded = torch.cat([vectors, torch.full((padding, 6), 9.0)]).unsqueeze(0)
    mask = (torch.arange(length + padding) < length).unsqueeze(0)
    found = module(padded, mask)[0, :length]
    torch.testing.assert_close(found, by_hand(module, vectors), atol=1e-5, rtol=1e-4)


def test_the_order_of_words_does_not_count():
    tower = TextTower(RECIPE, 20, 10).eval()
    ids = torch.tensor([[4, 7, 9, 5]])
    torch.testing.assert_close(
        tower(ids, torch.tensor([4])), tower(ids.flip(1), torch.tensor([4])), atol=1e-6, rtol=1e-5
    )


def test_the_authors_padding_reaches_the_longest_caption():
    recipe = RECIPE.model_copy(update={"max_length": 8})
    torch.manual_seed(0)
    right = TextTower(recipe, 20, 10).eval()
    padded = TextTower(recipe, 20, 10, compat=CompatRecipe(padded_attention=True)).eval()
    padded.load_state_dict(right.state_dict())
    ids, lengths = torch.tensor([[4, 7, 0], [4, 7, 9]]), torch.tensor([2, 3])
    vectors = torch.zeros(2, 8, 6)
    vectors[0, :2], vectors[1, :3] = right.words.weight[ids[0, :2]], right.words.weight[ids[1]]
    everywhere = torch.ones(2, 8, dtype=torch.bool)
    expected = right.attention(vectors, everywhere).amax(1)
    torch.testing.assert_close(padded(ids, lengths), expected, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(right(ids, lengths), expected, atol=1e-3)


def test_the_recipe_is_the_posters():
    text = load_recipe("translator").text
    module = SelfAttention(text.embedder.word_dim, text.encoder)
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    assert shapes["project.weight"] == (3 * 6 * 64, 300)
    assert shapes["join.weight"] == (300, 6 * 64)
    assert shapes["widen.weight"] == (1024, 300)
    assert shapes["last.weight"] == (1024, 1024)
    assert (module.dropout.p, module.attention_dropout) == (0.01, 0.1)


def test_dropout_only_in_training():
    module = layer(ENCODER.model_copy(update={"attention_dropout": 0.5}))
    vectors, mask = torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool)
    np.testing.assert_array_equal(*(module(vectors, mask).detach().numpy() for _ in range(2)))
    module.train()
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(*(module(vectors, mask).detach().numpy() for _ in range(2)))
