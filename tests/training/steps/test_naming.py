"""Names of classes beside captions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.objectives import build_objective
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.recipes.schema import InfoNceRecipe
from polyglance.training.inputs.data import fresh_model
from polyglance.training.steps.naming import Naming, build_naming
from tests.text.embedders.texts import training_texts

CONCEPTS = [
    {"synset": "1-n", "classes": [0, 1], "names": {"en": ["dog", "big dog"], "de": ["hund"]}},
    {"synset": "2-n", "classes": [0], "names": {"en": ["terrier"]}},
    {"synset": "3-n", "classes": [2], "names": {"de": ["auto"]}},
]
WORDS = ["big", "dog", "hund", "terrier", "auto"]


def recipe_of(path: Path, *changes: str) -> Recipe:
    given = (
        "image.head.kind=classes",
        "image.head.classes=3",
        f"naming.concepts={path}",
        "text.embedder.min_count=1",
        "text.embedder.word_dim=4",
        "text.encoder.hidden=4",
        "joint.dim=8",
    )
    return load_recipe("nce", parse_overrides([*given, *changes]))


@pytest.fixture
def concepts(tmp_path: Path) -> Path:
    path = tmp_path / "concepts.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in CONCEPTS))
    return path


def naming_of(path: Path, *changes: str) -> Naming:
    torch.manual_seed(0)
    texts = training_texts({"en": WORDS})
    model = fresh_model(recipe_of(path, *changes), texts, 6).model
    found = build_naming(model)
    assert found is not None
    return found


def test_every_name_belongs_to_its_concept(concepts: Path) -> None:
    naming = naming_of(concepts)
    names = ["dog", "big dog", "hund", "terrier", "auto"]
    assert [[own.tolist() for own in rows] for rows in naming.rows] == [[[0, 1], [2]], [[3]], [[4]]]
    expected = naming.model.tokens(names).ids
    assert naming.texts.ids.flat.tolist() == expected.flat.tolist()
    assert naming.shares.tolist() == [[0.5, 0.5, 0], [1, 0, 0], [0, 0, 1]]


def test_an_update_draws_concepts_once_and_their_names_from_all_languages(concepts: Path) -> None:
    naming = naming_of(concepts)
    drawn = set()
    for update in range(60):
        numbers, names = naming.draw(update)
        assert sorted(numbers) == [0, 1, 2]
        drawn |= set(zip(numbers.tolist(), names.tolist(), strict=True))
        again = naming.draw(update)
        assert np.array_equal(numbers, again[0])
        assert np.array_equal(names, again[1])
    assert drawn == {(0, 0), (0, 1), (0, 2), (1, 3), (2, 4)}


def test_concepts_that_share_a_class_are_no_negatives(concepts: Path) -> None:
    """Against InfoNCE written out: the dog and the terrier, which is one, are not compared."""
    naming = naming_of(concepts, "naming.weight=0.5")
    objective = build_objective(InfoNceRecipe(temperature=0.5))
    numbers, names = naming.draw(3)
    spelt = ["dog", "big dog", "hund", "terrier", "auto"]
    texts = naming.model.encode_text([spelt[name] for name in names])
    vectors = naming.mixture.vectors.detach().numpy()
    classes = [CONCEPTS[number]["classes"] for number in numbers]
    images = np.stack([vectors[own].mean(0) for own in classes])
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    logits = np.exp(images @ texts.T / 0.5)
    shared = np.array([[bool(set(a) & set(b)) for b in classes] for a in classes])
    logits = logits * (~shared | np.eye(3, dtype=bool))
    both = -np.log(np.diag(logits) / logits.sum(1)), -np.log(np.diag(logits) / logits.sum(0))
    expected = 0.5 * (both[0].mean() + both[1].mean()) / 2
    loss, collapsed = naming.loss(naming.read(3), objective, False)
    assert loss.item() == pytest.approx(expected, rel=1e-4)
    assert collapsed == pytest.approx(0.5 * np.log(3), rel=1e-4)
    loss.backward()
    assert naming.mixture.vectors.grad is not None
    assert (naming.mixture.vectors.grad.abs().sum(1) > 0).all()


def test_languages_choose_among_the_names(concepts: Path) -> None:
    naming = naming_of(concepts, "naming.languages=[de]")
    assert [[own.tolist() for own in rows] for rows in naming.rows] == [[[0]], [[1]]]
    with pytest.raises(PolyglanceError, match="no two concepts with names in fr"):
        naming_of(concepts, "naming.languages=[fr]")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("image.head.kind=linear", "naming needs class vectors"),
        ("joint.similarity.kind=order", "naming uses cosines"),
    ],
)
def test_what_cannot_have_names_is_refused(concepts: Path, change: str, message: str) -> None:
    given = ["image.head.kind=classes", f"naming.concepts={concepts}", change]
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("nce", parse_overrides(given))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="no such concept file; create it with"):
        naming_of(tmp_path / "none.jsonl.gz")
