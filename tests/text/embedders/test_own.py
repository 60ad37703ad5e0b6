"""An embedder of one's own: a variant of recipes, a layer and an embedder, in one file."""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
import pytest
from pydantic import Field
from torch import Tensor, nn

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes import Recipe, load_recipe
from polyglance.recipes.schema import EmbedderRecipe
from polyglance.text.embedders import (
    Embedder,
    EncodedTexts,
    Substitutes,
    TrainingTexts,
    WordLayer,
    embedders,
    register,
)
from polyglance.training import train


class HashedEmbedderRecipe(EmbedderRecipe):
    """A trained vector for every bucket of hashed words: no word is unknown."""

    kind: Literal["hashed"] = "hashed"
    word_dim: int = Field(300, gt=0, description="dimension of a word vector")
    buckets: int = Field(10_000, gt=0, description="words of one bucket have one vector")


class HashedLayer(WordLayer):
    def __init__(self, settings: HashedEmbedderRecipe) -> None:
        super().__init__(settings.word_dim)
        self.table = nn.Embedding(1 + settings.buckets, settings.word_dim)

    def forward(self, ids: Tensor, counts: object = None, unseen: object = None) -> Tensor:
        return self.table(ids)


class HashedEmbedder(Embedder):
    variants = (HashedEmbedderRecipe,)

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.settings = recipe.text.embedder

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "HashedEmbedder":
        return cls(recipe)

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "HashedEmbedder":
        return cls(recipe)

    def save(self, folder: Path) -> None:
        pass  # the recipe says all

    @property
    def towers(self) -> list[str]:
        return [""]

    def layer(self, tower: str = "") -> HashedLayer:
        return HashedLayer(self.settings)

    def encode(
        self,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> EncodedTexts:
        buckets, longest = self.settings.buckets, self.recipe.text.max_length
        return EncodedTexts(
            Ragged.join([[1 + crc32(w.encode()) % buckets for w in one[:longest]] for one in words])
        )

    def substitutes(self, language: str | None) -> Substitutes:
        return Substitutes(0, np.arange(1, 1 + self.settings.buckets), np.empty(0, np.int64))

    def unknown(
        self, words: Sequence[str], language: str | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(words), ()


RECIPE = """
base: vsepp
name: hashed
summary: words by their hashes
image: {feature: imported/toy}
text: {embedder: {kind: hashed, word_dim: 8, buckets: 40}, encoder: {hidden: 16}}
joint: {dim: 16}
augment: {word_drop: 0.1}
training: {batch_size: 32, lr: 0.01, epochs: 4}
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What `@register` above the class would do, undone for the other tests."""
    with monkeypatch.context() as patch:
        patch.setattr(embedders, "_parts", dict(embedders._parts))
        patch.setattr(EmbedderRecipe, "added", dict(EmbedderRecipe.added))
        register(HashedEmbedder)
        yield
    EmbedderRecipe._union = None


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "hashed.yaml").write_text(RECIPE)
    return load_recipe(tmp_path / "hashed.yaml")


def test_trained_saved_loaded_and_used(toy: Path, tmp_path: Path, recipe: Recipe) -> None:
    result = train(recipe, load_dataset(toy), tmp_path / "run", show_progress=False)
    # 20 images, of which many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45
    loaded = Model.load(tmp_path / "run")
    assert isinstance(loaded.embedder, HashedEmbedder)
    texts = ["red dog runs", "words never seen"]
    np.testing.assert_allclose(
        loaded.encode_text(texts), result.model.encode_text(texts), atol=1e-6
    )
    np.testing.assert_allclose(
        loaded.encode_text(texts[1])[0], loaded.encode_text(texts)[1], atol=1e-6
    )
    assert loaded.parameters()["words"] == 41 * 8


def test_its_fields_are_checked_like_all_others(tmp_path: Path) -> None:
    def refused(changes: dict[str, object], message: str) -> None:
        with pytest.raises(PolyglanceError, match=message):
            load_recipe("vsepp", {"text.embedder": changes})

    made = load_recipe("vsepp", {"text.embedder": {"kind": "hashed", "buckets": 5}})
    assert made.text.embedder == HashedEmbedderRecipe(word_dim=300, buckets=5)
    assert made.model_dump()["text"]["embedder"] == {
        "kind": "hashed",
        "word_dim": 300,
        "buckets": 5,
    }
    refused({"kind": "hashd"}, r"unknown kind 'hashd' of text\.embedder \(did you mean 'hashed'")
    refused({"kind": "hashed", "bucket": 5}, r"unknown field 'text\.embedder\.bucket' .*'buckets'")
    refused({"kind": "hashed", "ends": True}, r"of kind hashed has no field 'ends' \(table, roles,")
    refused({"kind": "hashed", "buckets": 0}, r"field 'text\.embedder\.buckets': .*greater than 0")
    refused({"buckets": 5}, r"of kind table has no field 'buckets' \(subwords and hashed have\)")


def test_two_embedders_of_one_kind_are_refused() -> None:
    class Other(HashedEmbedder):
        pass

    with pytest.raises(ValueError, match="embedder 'hashed' is registered twice"):
        register(Other)
    with pytest.raises(ValueError, match="kind 'hashed' is registered twice"):
        EmbedderRecipe.add(type("Another", (HashedEmbedderRecipe,), {}))


def test_the_error_for_a_missing_module_names_it(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    Model(recipe, HashedEmbedder(recipe), 16, ["en"]).save(tmp_path / "model")
    assert Model.load(tmp_path / "model").languages == ["en"]
    monkeypatch.delitem(EmbedderRecipe.added, "hashed")
    EmbedderRecipe._union = None
    with pytest.raises(PolyglanceError, match=r"unknown kind 'hashed' of text\.embedder"):
        Model.load(tmp_path / "model")


def test_the_documentation_shows_this_embedder() -> None:
    page = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for shown in (HashedEmbedderRecipe, HashedLayer, HashedEmbedder):
        assert inspect.getsource(shown) in page
    assert RECIPE.strip() in page
