"""CVSE: concepts, their graph, labels of a caption itself, and trainings."""

from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.models.networks.consensus import Consensus, concept_graph
from polyglance.numerics.ragged import Ragged
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import ConsensusRecipe
from polyglance.text.embedders import TableEmbedder, Vocabulary
from polyglance.training.steps.levels import agreement
from tests.conftest import TOY, write_toy
from tests.training.runs import run, same, stop_after, weights

WORDS = ["a", "dog", "the", "red", ".", "ball", "runs"]
SMALL = [*TOY, "consensus.concepts=6", "loss.warmup_epochs=1", "training.patience=50"]


def make(concepts: int = 3, **fields: float) -> Consensus:
    torch.manual_seed(1)
    recipe = load_recipe("cvse", {"text.embedder.word_dim": 4})
    settings = ConsensusRecipe(concepts=concepts, **fields)
    return Consensus(settings, 6, TableEmbedder(recipe, {"": Vocabulary(WORDS)}))


def test_concepts_are_frequent_words_that_are_no_function_words() -> None:
    made = make()
    # Four specials come first: dog is 5, red 7, ball 9; "a", "the" and "." are no concepts.
    assert made.concepts.tolist() == [5, 7, 9]
    assert make(99).concepts.tolist() == [5, 7, 9, 10]


def test_labels_are_of_the_caption_itself() -> None:
    ids = torch.tensor([[1, 5, 7, 2], [1, 9, 5, 2], [1, 4, 8, 2]])
    labels = make().labels(ids, torch.tensor([4, 2, 4]))
    assert labels.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
    # Ids that the vocabulary lacks, such as those of added languages, are no concept.
    assert make().labels(torch.tensor([[1 << 30]]), torch.tensor([1])).tolist() == [[0, 0, 0]]


def test_the_graph_is_the_one_of_a_loop() -> None:
    together = np.array([[10.0, 4, 1], [4, 5, 0], [1, 0, 20]])
    linked = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            share = together[i, j] / together[i, i]
            linked[i, j] = i != j and 5 ** (share - 0.02) - 5**-0.02 >= 0.3
    assert linked.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    graph = np.eye(3)
    for j in range(3):
        graph[:, j] += 0.25 * linked[:, j] / (linked[:, j].sum() + 1e-6)
    degree = np.diag(graph.sum(1) ** -0.5)
    np.testing.assert_allclose(concept_graph(together), (graph @ degree).T @ degree)


def test_captions_are_observed() -> None:
    made = make()
    table = torch.arange(44.0).view(11, 4)
    # dog and red together always, the ball alone.
    made.observe(Ragged.join([[1, 5, 7, 2], [1, 7, 5, 5, 2], [1, 9, 2], [1, 4, 2]]), table)
    assert made.inputs.tolist() == table[[5, 7, 9]].tolist()
    assert made.graph[0, 1] > 0.1
    assert made.graph[0, 2] == made.graph[1, 2] == 0


def test_levels() -> None:
    made = make(label_share=1.0, smooth=50.0, fusion=0.25).eval()
    made.observe(Ragged.join([[5, 7], [9]]), torch.randn(11, 4))
    instances = torch.nn.functional.normalize(torch.randn(2, 6), dim=1)
    texts = made.texts(instances, torch.tensor([[5, 3], [9, 3]]), torch.tensor([2, 2]))
    # Labels alone, and sharp: the consensus is the concept's own vector.
    torch.testing.assert_close(texts.shares, torch.eye(3)[[0, 2]], atol=1e-6, rtol=0)
    torch.testing.assert_close(texts.consensus, made._basis()[[0, 2]])
    mixed = 0.25 * instances + 0.75 * texts.consensus
    torch.testing.assert_close(texts.fused, mixed / mixed.norm(dim=1, keepdim=True))
    images = made.images(instances)
    torch.testing.assert_close(images.shares.sum(1), torch.ones(2))
    torch.testing.assert_close(images.instance, instances)


def test_shares_are_those_of_every_pair_of_instance_and_concept() -> None:
    made = make(smooth=2.0).eval()
    side, instances, concepts = made.image_shares, torch.randn(4, 6), torch.randn(3, 6)
    pairs = side.instances(instances).unsqueeze(1) * side.concepts(concepts).unsqueeze(0)
    expected = (2.0 * side.weight(pairs).squeeze(2)).softmax(1)
    torch.testing.assert_close(side(instances, concepts), expected)


def test_agreement_is_the_divergence_summed_over_the_batch() -> None:
    images = torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    texts = torch.tensor([[0.25, 0.75], [0.9, 0.1]])
    expected = 0.25 * np.log(0.25 / 0.5) + 0.75 * np.log(0.75 / 0.5)
    assert float(agreement(images, texts)) == pytest.approx(expected)
    assert float(agreement(texts, texts)) == pytest.approx(0, abs=1e-6)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("consensus") / "toy", form="set")


def test_it_trains_is_saved_and_resumes(data: Path, tmp_path: Path) -> None:
    long = "training.epochs=6"
    result = run(data, tmp_path / "whole", long, recipe="cvse", small=SMALL)
    # A random order of 20 images reaches about 170.
    assert result.progress.best > 300
    assert "consensus.graph" in weights(tmp_path / "whole")
    loaded = Model.load(tmp_path / "whole")
    texts = ["a dog that runs", "blue cat sleeps"]
    again = loaded.encode_text(texts, "en")
    np.testing.assert_allclose(again, result.model.encode_text(texts, "en"), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(again, axis=1), 1, atol=1e-5)
    one = loaded.encode_text(texts[:1], "en")
    np.testing.assert_allclose(one, again[:1], atol=1e-6)
    images = loaded.encode_dataset(load_dataset(data).split("test"), tmp_path / "cache")
    assert images.shape == (20, 16)
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "cut", long, recipe="cvse", small=SMALL, callbacks=stop_after(5))
    run(data, tmp_path / "cut", long, recipe="cvse", small=SMALL, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text.embedder.kind=liwe", "one table of words"),
        ("sampling.kind=languages", "has its own loss"),
        ("joint.similarity.kind=order", "uses cosines"),
        ("captioning={}", "has its own loss"),
    ],
)
def test_conflicting_settings_are_refused(change: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("cvse", parse_overrides([change]))
