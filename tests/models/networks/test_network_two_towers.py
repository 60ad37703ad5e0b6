"""Two towers."""

import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.models.networks.network import TwoTower
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import TextBatch
from tests.models.small import table_embedder

SMALL = ["text.encoder.hidden=6", "text.embedder.word_dim=5", "joint.dim=6"]


def make(recipe: Recipe, feature_dim: int = 7, words: int = 20) -> TwoTower:
    return TwoTower(recipe, feature_dim, table_embedder(recipe, words))


@pytest.mark.parametrize("name", ["vsepp", "order", "gella-oe"])
def test_embeddings_have_length_one_and_those_of_order_no_sign(name: str) -> None:
    network = make(load_recipe(name, parse_overrides(SMALL)))
    images = network.embed_images(torch.randn(3, 7))
    batch = TextBatch(torch.randint(4, 20, (3, 4)), torch.tensor([4, 2, 1]))
    captions = network.embed_text(batch, "en")
    for embeddings in (images, captions):
        torch.testing.assert_close(embeddings.norm(dim=1), torch.ones(3))
        assert name == "vsepp" or bool((embeddings >= 0).all())


def test_a_set_of_one_vector_is_that_vector() -> None:
    network = make(load_recipe("vsepp", parse_overrides(SMALL)))
    features = torch.randn(3, 7)
    sets = features[:, None, :].repeat(1, 2, 1)
    sets[:, 1] = 99.0
    torch.testing.assert_close(
        network.embed_images(sets, torch.ones(3, dtype=torch.long)), network.embed_images(features)
    )


def test_vsepp_has_the_papers_shapes() -> None:
    """Spec §2.2: Linear(F→1024), Embedding(V, 300), GRU(300→1024); no other parameters."""
    network = make(load_recipe("vsepp"), feature_dim=2048, words=100)
    sizes = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert sizes == {
        "image.head.weight": (1024, 2048),
        "image.head.bias": (1024,),
        "text.words.weight": (100, 300),
        "text.gru.weight_ih_l0": (3072, 300),
        "text.gru.weight_hh_l0": (3072, 1024),
        "text.gru.bias_ih_l0": (3072,),
        "text.gru.bias_hh_l0": (3072,),
    }


def test_sizes_that_do_not_meet_are_explained() -> None:
    with pytest.raises(PolyglanceError, match=r"text\.projection=true"):
        load_recipe("vsepp", parse_overrides(["joint.dim=8"]))
