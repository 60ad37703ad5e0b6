import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.recipes import load_recipe
from polyglance.recipes.schema import CompatRecipe, Recipe, SelfAttentionRecipe, TextRecipe
from polyglance.text.embedders import TextBatch
from polyglance.text.embedders.table_layer import WordTable
from polyglance.text.encoders.self_attention import SelfAttention
from polyglance.text.encoders.tower import TextTower

SETTINGS = SelfAttentionRecipe(hidden=10, heads=2, head_dim=3)


def layer(settings: SelfAttentionRecipe = SETTINGS) -> SelfAttention:
    torch.manual_seed(0)
    return SelfAttention(TextRecipe(encoder=settings), 6, CompatRecipe()).eval()


def tower(**compat: bool) -> TextTower:
    text = TextRecipe(encoder=SETTINGS, pooling="max", max_length=8)
    recipe = Recipe(
        name="", paper="", summary="", text=text, joint={"dim": 10}, compat=CompatRecipe(**compat)
    )
    torch.manual_seed(0)
    return TextTower(recipe, WordTable(20, 6)).eval()


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
    found = module.attend(padded, mask)[0, :length]
    torch.testing.assert_close(found, by_hand(module, vectors), atol=1e-5, rtol=1e-4)


def test_the_order_of_words_does_not_count():
    made, ids, lengths = tower(), torch.tensor([[4, 7, 9, 5]]), torch.tensor([4])
    found, flipped = made(TextBatch(ids, lengths)), made(TextBatch(ids.flip(1), lengths))
    torch.testing.assert_close(found, flipped, atol=1e-6, rtol=1e-5)


def test_the_authors_padding_reaches_the_longest_caption():
    right, padded = tower(), tower(padded_attention=True)
    padded.load_state_dict(right.state_dict())
    ids, lengths = torch.tensor([[4, 7, 0], [4, 7, 9]]), torch.tensor([2, 3])
    vectors = torch.zeros(2, 8, 6)
    vectors[0, :2], vectors[1, :3] = right.words.weight[ids[0, :2]], right.words.weight[ids[1]]
    everywhere = torch.ones(2, 8, dtype=torch.bool)
    expected = right.encoder.attend(vectors, everywhere).amax(1)
    torch.testing.assert_close(padded(TextBatch(ids, lengths)), expected, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(right(TextBatch(ids, lengths)), expected, atol=1e-3)


def test_the_recipe_is_the_posters():
    recipe = load_recipe("translator")
    module = SelfAttention(recipe.text, recipe.text.embedder.word_dim, recipe.compat)
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    assert shapes["project.weight"] == (3 * 6 * 64, 300)
    assert shapes["join.weight"] == (300, 6 * 64)
    assert shapes["widen.weight"] == (1024, 300)
    assert shapes["last.weight"] == (1024, 1024)
    assert (module.dropout.p, module.attention_dropout) == (0.01, 0.1)


def test_dropout_only_in_training():
    module = layer(SETTINGS.model_copy(update={"attention_dropout": 0.5}))
    vectors, mask = torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool)
    assert torch.equal(*(module.attend(vectors, mask) for _ in range(2)))
    module.train()
    assert not torch.equal(*(module.attend(vectors, mask) for _ in range(2)))
