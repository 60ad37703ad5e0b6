"""HGR trained on a small world whose captions have semantic roles."""

import json
from pathlib import Path

import numpy as np
import pytest

import polyglance
from polyglance.data import load_dataset
from polyglance.data.role_graphs import FILE
from polyglance.errors import PolyglanceError
from polyglance.models import Hierarchy
from polyglance.recipes import load_recipe, parse_overrides
from tests.conftest import WORDS, write_toy
from tests.training.runs import run

VERBS = set(WORDS["en"][2])
NOUNS = set(WORDS["en"][1])


def graph(sentence: str) -> list[object]:
    """The sentence's verb, and its noun as the verb's argument."""
    words = sentence.split()
    nodes: dict[str, object] = {"0": {"role": "ROOT", "spans": list(range(len(words)))}}
    nodes["1"] = {"role": "V", "spans": [n for n, word in enumerate(words) if word in VERBS]}
    nodes["2"] = {"role": "ARG0", "spans": [n for n, word in enumerate(words) if word in NOUNS]}
    return [nodes, [["0", "1"], ["1", "2", "ARG0"]]]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Sets of vectors with English captions, and the file of their roles."""
    folder = write_toy(tmp_path / "clips", form="set")
    texts = set(load_dataset(folder).captions(["en"]).texts)
    (folder / FILE).write_text(json.dumps({text: graph(text) for text in texts}))
    return folder


SMALL = ["data.languages=[en]", "training.epochs=12"]


@pytest.mark.parametrize("recipe", ["hgr", "hgr-gpo"])
def test_it_learns_and_is_loaded_again(clips: Path, tmp_path: Path, recipe: str) -> None:
    run(clips, tmp_path / "run", *SMALL, recipe=recipe)
    model, dataset = polyglance.load(tmp_path / "run"), load_dataset(clips)
    network = model.network
    assert isinstance(network, Hierarchy)
    report = polyglance.evaluate(model, dataset, languages=["en"], bootstrap=0)
    # 20 clips in the test split, of which ten would be half of them by chance.
    assert report["en"].metrics.text_to_image.r10 > 60
    table = dataset.split("test").captions(["en"])
    clips_found, texts = model.encode_dataset(dataset.split("test")), model.encode_text(table.texts)
    assert set(texts.lengths) == {1 + 4 + 6}
    sizes = {2 + index % 3 for index in range(160)}
    assert set(clips_found.lengths) <= {1 + 2 * size for size in sizes}
    scores = model.similarity(clips_found, texts)
    assert scores.shape == (len(dataset.split("test")), len(table))
    # A caption alone has the scores that it has among others.
    alone = model.similarity(clips_found, model.encode_text(table.texts[3]))
    np.testing.assert_allclose(alone[:, 0], scores[:, 3], atol=1e-5)


def test_without_roles_it_is_refused(clips: Path, tmp_path: Path) -> None:
    (clips / FILE).unlink()
    with pytest.raises(PolyglanceError, match=rf"needs the semantic roles .* {FILE} into"):
        run(clips, tmp_path / "run", *SMALL, recipe="hgr")


def test_a_caption_without_roles_is_named(clips: Path, tmp_path: Path) -> None:
    value = json.loads((clips / FILE).read_text())
    gone = load_dataset(clips).split("train").captions(["en"]).texts[0]
    del value[gone]
    other = tmp_path / "roles.json"
    other.write_text(json.dumps(value))
    with pytest.raises(PolyglanceError, match=f"no semantic roles of '{gone}'"):
        run(clips, tmp_path / "run", *SMALL, f"text.embedder.graphs={other}", recipe="hgr")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("text.embedder={kind: table, ends: false}", "go together"),
        ("text.embedder.ends=true", "one tower without ends"),
        ("augment.word_drop=0.2", "needs all words of the graphs"),
        ("image.feature=efficientnet-lite2/global", "one vector per image"),
    ],
)
def test_what_does_not_fit_is_refused(override: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("hgr", parse_overrides([override]))
