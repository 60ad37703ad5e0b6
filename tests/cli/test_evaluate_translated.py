"""Evaluating a model whose recipe says that it is asked in translation."""

import json

import pytest
import yaml

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from tests.conftest import TOY, write_toy


@pytest.fixture(scope="module")
def asked(tmp_path_factory, run):
    """evaluate on a toy dataset and a model whose recipe joins the scores of both languages."""
    folder = tmp_path_factory.mktemp("asked")
    data = write_toy(folder / "toy")
    recipe = {"name": "mine", "base": "vsepp", "paper": "p", "summary": "s"}
    recipe["translation"] = {"consistency": "average", "translator": "file:$data/pairs.tsv"}
    german = dict.fromkeys(load_dataset(data).captions(["de"]).texts)
    (data / "pairs.tsv").write_text("de\ten\n" + "".join(f"{text}\tdog\n" for text in german))
    (folder / "mine.yaml").write_text(yaml.safe_dump(recipe))
    changes = [word for change in TOY for word in ("--set", change)]
    model = folder / "model"
    run("train", folder / "mine.yaml", "--data", data, "--languages", "de,en", "--out", model,
        *changes)  # fmt: skip

    def evaluate(*options):
        result = folder / "result.json"
        run("evaluate", model, "--data", data, "--languages", "de", "--json", result, *options)
        return json.loads(result.read_text())["similarity"]

    evaluate.model = model
    return evaluate


def test_the_recipe_says_how_to_ask_and_options_overrule_it(asked):
    assert asked() == "cosine, translated to de, en"
    assert asked("--consistency", "none") == "cosine"
    assert asked("--translate-to", "en") == "cosine, translated to en"


def test_perturbed_queries_are_not_translated(asked):
    with pytest.raises(PolyglanceError, match="add --consistency none"):
        asked("--perturb", "typos:0.5")
    assert asked("--perturb", "typos:0.5", "--consistency", "none") == "cosine"


def test_learned_weights_are_kept_with_the_model(asked):
    learned = asked("--consistency", "learned", "--keep-weights")
    assert learned == "cosine, translated to de, en, weighted on val"
    kept = json.loads((asked.model / "consistency.json").read_text())
    assert kept["targets"] == ["de", "en"]
    assert [len(kept["weights"]["de"]["first"]), list(kept["weights"])] == [2, ["de"]]
    literal = asked("--consistency", "literal", "--keep-weights")
    assert literal == "cosine, translated to de, en, literally weighted on val"
    kept = json.loads((asked.model / "consistency.json").read_text())
    assert [len(kept["weights"]["de"][name]) for name in ("first", "second")] == [32, 32]
    with pytest.raises(PolyglanceError, match="--keep-weights needs --consistency learned"):
        asked("--consistency", "average", "--keep-weights")
