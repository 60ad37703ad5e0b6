"""The text tower: padding never changes an embedding."""

import pytest
import torch

from polyglance.recipes.schema import TextRecipe
from polyglance.text.encoders.tower import TextTower

WORDS = TableEmbedderRecipe(word_dim=5)


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "first"])
@pytest.mark.parametrize("encoder", ["gru", "bigru"])
def test_an_embedding_does_not_depend_on_the_batch(encoder: str, pooling: str) -> None:
    torch.manual_seed(0)
    recipe = TextRecipe.model_validate(
        {"embedder": WORDS, "encoder": {"kind": encoder, "hidden": 6}, "pooling": pooling}
    )
    tower = TextTower(recipe, vocabulary=20, dim=6).eval()
    ids = torch.randint(4, 20, (3, 7))
    lengths = torch.tensor([7, 2, 4])
    together = tower(ids, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = tower(ids[row : row + 1, :length], torch.tensor([length]))
        torch.testing.assert_close(alone[0], together[row])


def test_directions_average_or_concatenate() -> None:
    size = {}
    for directions in ("average", "concatenate"):
        recipe = TextRecipe(embedder=WORDS, encoder=BiGruRecipe(hidden=6, directions=directions))
        size[directions] = TextTower(recipe, 20, 6).size
    assert size == {"average": 6, "concatenate": 12}


def test_words_start_within_a_tenth() -> None:
    weight = TextTower(TextRecipe(), 50, 1024).words.weight
    assert 0.05 < float(weight.detach().abs().max()) <= 0.1
