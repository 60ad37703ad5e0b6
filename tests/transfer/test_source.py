"""The model that another one starts from: what is copied, what is frozen, what must be alike."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import TransferRecipe
from polyglance.text.embedders import TrainingTexts
from polyglance.transfer.source import (
    check_compatible,
    copy_weights,
    freeze,
    pivot_of,
    source_folder,
)
from polyglance.transfer.start import extend_source
from tests.transfer.sources import KINDS, World, german, recipe_of

Trained = Callable[[str], Path]


def extended(world: World, trained: Trained, kind: str) -> Model:
    """A model of a kind with German added, before any training."""
    named = german(trained(kind), "transfer.keep=true", "data.images=0", "transfer.method=svd")
    if kind == "universal":
        named += ["sampling.kind=languages", "loss.kind=sum-hinge"]
    recipe, source = recipe_of(kind, *named), Model.load(trained(kind))
    texts = TrainingTexts(CaptionTable.collect([]), [], world[1], world[0] / "cache")
    return extend_source(recipe, source, texts, source.feature_dim, trained(kind)).model


def parameters(model: Model) -> set[str]:
    return {name for name, _ in model.network.named_parameters()}


def trained_ones(model: Model) -> set[str]:
    return {name for name, value in model.network.named_parameters() if value.requires_grad}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_trained_but_what_a_new_language_brought(
    world: World, trained: Trained, kind: str
) -> None:
    new = extended(world, trained, kind)
    added = parameters(new) - parameters(Model.load(trained(kind)))
    assert added
    assert trained_ones(new) == added
    assert all("language_de" in name for name in added)
    freeze(new, ["fr"])
    assert trained_ones(new) == set()
    freeze(new, ["fr", "de"])
    assert trained_ones(new) == added


def test_copied_weights_are_those_that_both_have(trained: Trained) -> None:
    old = Model.load(trained("table"))
    torch.manual_seed(5)
    new = Model(old.recipe, old.embedder, old.feature_dim, ["en"])
    texts = ["red dog runs", "a cat that sleeps", "zebra", "white"]
    assert not np.allclose(old.encode_text(texts, "en"), new.encode_text(texts, "en"))
    copy_weights(old, new)
    np.testing.assert_array_equal(old.encode_text(texts, "en"), new.encode_text(texts, "en"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text.embedder.word_dim": 9}, "text.embedder.word_dim=8, but the recipe has 9; --set"),
        ({"image.head.kind": "mlp"}, "image.head.kind=linear, but the recipe has mlp; --set"),
        ({"text.encoder.kind": "bigru"}, "text.encoder.kind=gru, but the recipe has bigru"),
        ({"text.embedder.kind": "liwe"}, "text.embedder.kind=table, but the recipe has liwe"),
        ({"text.tokenizer": "moses"}, "text.tokenizer=nltk, but the recipe has moses"),
        ({"joint.similarity.kind": "order"}, "joint.similarity.kind=cosine, but the recipe has"),
        ({"image.feature": "imported/other"}, "image.feature=imported/toy, but the recipe has"),
    ],
)
def test_the_error_names_the_first_field_that_differs(
    trained: Trained, changes: dict[str, object], message: str
) -> None:
    source = Model.load(trained("table"))
    small = source.recipe.model_dump(include={"text", "image", "joint"})
    recipe = load_recipe("vsepp", [small, changes])
    with pytest.raises(PolyglanceError, match=rf"folder: was trained with {message}"):
        check_compatible(recipe, source, 16, Path("folder"))


def test_fields_that_say_where_words_come_from_may_differ(trained: Trained) -> None:
    source = Model.load(trained("vectors"))
    own = source.recipe.text.embedder.model_dump()
    changed = {**own, "vectors": "elsewhere", "known": own["known"] + 1}
    text = source.recipe.text.model_dump() | {"embedder": changed}
    recipe = type(source.recipe).model_validate(source.recipe.model_dump() | {"text": text})
    check_compatible(recipe, source, 16, Path("folder"))
    with pytest.raises(PolyglanceError, match="features of dimension 16, but 'imported/toy' has 8"):
        check_compatible(recipe, source, 8, Path("folder"))


def test_what_trains_a_model_may_differ(trained: Trained) -> None:
    source = Model.load(trained("table"))
    changes = {"training.lr": 0.5, "loss.kind": "infonce", "data.languages": ["de"]}
    small = source.recipe.model_dump(include={"text", "image", "joint"})
    check_compatible(load_recipe("vsepp", [small, changes]), source, 16, Path("folder"))


def test_the_pivot_is_named_or_english_or_the_first(trained: Trained) -> None:
    source = Model.load(trained("table"))
    named = TransferRecipe(source="x", pivot="en")
    assert pivot_of(named, source) == "en"
    source.languages = ["de", "en", "fr"]
    assert pivot_of(TransferRecipe(source="x"), source) == "en"
    assert pivot_of(TransferRecipe(source="x", pivot="fr"), source) == "fr"
    source.languages = ["de", "fr"]
    assert pivot_of(TransferRecipe(source="x"), source) == "de"
    with pytest.raises(PolyglanceError, match=r"transfer\.pivot 'en' is not a language of"):
        pivot_of(named, source)


def test_folders_of_sources() -> None:
    out = Path("runs") / "mine" / "model"
    assert source_folder("run:other", out) == Path("runs") / "other" / "model"
    assert source_folder("elsewhere/model", out) == Path("elsewhere/model")
    assert source_folder("~/model", out) == Path.home() / "model"
