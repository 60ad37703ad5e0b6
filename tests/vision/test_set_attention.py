"""Self-attention among an image's vectors, and LIWE's image encoder."""

import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import ImageRecipe
from polyglance.vision.set_attention import SetAttention
from polyglance.vision.tower import ImageTower


def attending(gamma: float = 0.7) -> SetAttention:
    torch.manual_seed(0)
    layer = SetAttention(16)
    torch.nn.init.constant_(layer.gamma, gamma)
    return layer


def test_it_starts_as_nothing() -> None:
    vectors = torch.randn(2, 3, 16)
    everywhere = torch.ones(2, 3, dtype=torch.bool)
    torch.testing.assert_close(SetAttention(16)(vectors, everywhere), vectors)


def test_by_hand_vector_by_vector() -> None:
    layer, vectors = attending(), torch.randn(1, 4, 16)
    found = layer(vectors, torch.ones(1, 4, dtype=torch.bool))[0]
    for place, one in enumerate(vectors[0]):
        scores = torch.stack([layer.queries(one) @ layer.keys(other) for other in vectors[0]])
        mixed = sum(w * layer.values(v) for w, v in zip(scores.softmax(0), vectors[0], strict=True))
        torch.testing.assert_close(found[place], one + 0.7 * mixed)


def test_padding_changes_nothing() -> None:
    layer, vectors = attending(), torch.randn(1, 5, 16)
    mask = torch.tensor([[True, True, True, False, False]])
    alone = layer(vectors[:, :3], mask[:, :3])
    vectors[:, 3:] = torch.nan
    torch.testing.assert_close(layer(vectors, mask)[:, :3], alone)


def test_liwes_image_encoder_has_the_papers_sizes() -> None:
    """Spec §4.3: queries and keys 2048 → 256, values 2048 → 2048, then 2048 → 1024."""
    with torch.device("meta"):
        tower = ImageTower(load_recipe("liwe").image, 2048, 1024)
    count = sum(part.numel() for part in tower.parameters())
    assert count == 2 * (2048 * 256 + 256) + 2048 * 2049 + 1 + 2049 * 1024


def test_vectors_have_length_one_before_the_mean() -> None:
    recipe = ImageRecipe(activation="leaky-relu", normalise=True)
    torch.manual_seed(0)
    tower, features = ImageTower(recipe, 16, 8), torch.randn(2, 3, 16)
    vectors = torch.nn.functional.leaky_relu(tower.head(features), 0.1)
    expected = (vectors / vectors.norm(dim=2, keepdim=True)).mean(1)
    torch.testing.assert_close(tower(features, torch.tensor([3, 3])), expected)


def test_attention_over_one_vector_is_refused() -> None:
    tower = ImageTower(ImageRecipe(attention=True, feature="imported/toy"), 16, 8)
    said = r"^image\.attention needs several .* image\.feature=imported/toy has one: .*=false$"
    with pytest.raises(PolyglanceError, match=said):
        tower(torch.randn(2, 16))
