"""Model cards say what the folder and its evaluations say, and no more."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import export_model, load
from polyglance.runtime.card import CardSources, keep_card, model_card
from polyglance.runtime.card.document import ModelFacts, _data, _reproduce, _summary, _title
from tests.runtime.trained import trained


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its export, its data, and an evaluation."""
    folder = tmp_path_factory.mktemp("card")
    model, data = trained(folder, "nce")
    export_model(model, folder / "out")
    arguments = ["evaluate", folder / "run", "--data", data, "--json", folder / "e.json"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return folder


def test_scores_and_intervals_are_the_evaluations(made):
    card = model_card(made / "run", CardSources(evaluations=[made / "e.json"]))
    found = json.loads((made / "e.json").read_text())
    german = found["languages"]["de"]
    low, high = german["intervals"]["mr"]
    row = re.search(r"^\| German \|(.*)\|$", card, re.M)[1].split(" | ")
    assert row[3].strip() == f"{german['text_to_image']['r1']:.1f}"
    assert row[-1].strip() == f"{german['mr']:.1f} ({low:.1f}–{high:.1f})"
    assert "| mean (all) |" in card
    assert "2: German (`de`), English (`en`)." in card


def test_the_command_to_reproduce_gives_the_recipe(made):
    card = model_card(made / "run")
    words = shlex.split(re.search(r"```sh\n(.*)\n```", card)[1])
    assert words[:3] == ["polyglance", "train", "nce"]
    changes = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    again = load_recipe("nce", parse_overrides(changes)).model_dump(mode="json")
    assert again == json.loads((made / "run" / "model.json").read_text())["recipe"]


def test_a_run(made):
    card = model_card(made / "run", CardSources(licences=["pictures: CC0"], name="Mine"))
    assert card.startswith("# Mine\n")
    assert "- pictures: CC0" in card
    assert "Trained on `toy`" in card
    assert "mR on the validation split, by which the weights were selected: de " in card
    assert "Words outside its training captions are unknown" in card


def test_an_export(made):
    card = model_card(made / "out")
    identity = json.loads((made / "out" / "manifest.json").read_text())["id"]
    assert f"`{identity}`" in card
    assert "Licences: not recorded" in card
    assert "None is stored; run `polyglance evaluate" in card
    assert "It has no image network: its features, 'imported/toy', are not computed" in card


def test_an_export_of_a_run_names_its_data(made, tmp_path):
    manifest = export_model(made / "run", tmp_path / "out")
    known = re.search(
        r"^Trained on `toy`, \d+ captions \(fingerprint .*$", model_card(made / "run"), re.M
    )
    assert known[0] in model_card(tmp_path / "out").splitlines()
    unknown = manifest.model_copy(update={"trained_on": ""})
    assert (unknown.digest(), unknown.full_digest()) == (manifest.id, manifest.full_digest())
    assert "Not recorded in the export" in model_card(made / "out")


def test_the_command(made, tmp_path):
    result = CliRunner().invoke(app, ["card", str(made / "out"), "--out", str(tmp_path / "c.md")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "c.md").read_text() == model_card(made / "out")
    printed = CliRunner().invoke(app, ["card", str(made / "out")])
    assert printed.stdout == model_card(made / "out")


def test_a_calibrated_export_says_so(model_folder, tmp_path):
    import shutil

    import numpy as np

    from polyglance.runtime import Background, add_background

    shutil.copytree(model_folder, tmp_path / "m")
    vectors = np.eye(16, dtype=np.float32)
    add_background(tmp_path / "m", Background(vectors, vectors, 2.5, "cosine", 0.75, 0.875))
    assert (
        "images with a score of at least 2.50 match; 75% of matching images do, and"
        in model_card(tmp_path / "m")
    )


def test_languages_by_what_was_trained_on_in_them(tmp_path):
    """Of rows with a split those of train; what captions name is not named again."""
    from polyglance.runtime.card.languages import count_languages, listed_languages

    def write(path: Path, *rows: object) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def captions(split: str, **texts: list[str]) -> dict[str, object]:
        kinds = {code: {"independent": own} for code, own in texts.items()}
        return {"image": f"{split}.jpg", "split": split, "captions": kinds}

    data = tmp_path / "data"
    rows = captions("train", en=["a", "b"], de=["c"]), captions("val", fr=["d"])
    write(data / "captions.jsonl", *rows)
    (data / "images").mkdir()
    write(tmp_path / "more.jsonl", captions("train", tr=["e"]), captions("test", ko=["f"]))
    write(
        tmp_path / "pairs.jsonl",
        {"id": 1, "captions": {"en": {"x": ["g"]}, "sw": {"x": ["h"]}, "th": {"name": ["l"]}}},
    )
    write(
        tmp_path / "concepts.jsonl",
        {"names": {"swh": ["i"], "th": ["j"], "fa": ["k"], "pes": ["l"]}},
    )
    changes = {
        "data.more": ["/elsewhere/more.jsonl"],
        "sampling.text_only": False,
        "sampling.text_files": ["pairs.jsonl"],
        "sampling.beside": {"data": "emoji"},
        "naming.concepts": "concepts.jsonl",
    }
    recipe = load_recipe("polyglance-base", changes)
    counted = count_languages(recipe, data)
    assert [line for line in listed_languages(recipe, ["en"], *counted) if line] == [
        "With captions of images, 3: German (`de`, 1), English (`en`, 2), Turkish (`tr`, 1).",
        "With sentences but no captions, 1: Swahili (`sw`, 1).",
        "With names of things only, 2: Persian (`fa`, 2), Thai (`th`, 2).",
        "Not counted, as they were not found next to the data: emoji/captions.jsonl.gz.",
    ]
    plain = "\n".join(listed_languages(recipe, ["en", "swh", "sw"], {}))
    assert plain.startswith("2: English (`en`), Swahili (`sw`).")
    assert "polyglance card --data DATA" in plain
    assert listed_languages(load_recipe("nce"), [], None) == ["None are recorded."]


def test_mistakes(made, tmp_path):
    with pytest.raises(PolyglanceError, match="neither a run nor an exported model"):
        model_card(tmp_path)
    with pytest.raises(PolyglanceError, match="nosuch: no such folder; a model is the folder of a"):
        model_card(tmp_path / "nosuch")
    (tmp_path / "e.json").write_text('{"a": 1}')
    with pytest.raises(PolyglanceError, match="not an evaluation"):
        model_card(made / "run", CardSources(evaluations=[tmp_path / "e.json"]))
    broken = json.loads((made / "e.json").read_text())
    del broken["languages"]["de"]["mr"]
    (tmp_path / "e.json").write_text(json.dumps(broken))
    with pytest.raises(PolyglanceError, match="damaged evaluation"):
        model_card(made / "run", CardSources(evaluations=[tmp_path / "e.json"]))
    assert not list(tmp_path.glob("*.md"))


def test_facts_are_kept_in_an_export(made, tmp_path):
    """The card of an export says on any machine what was stored; its id stays."""
    import shutil

    folder = shutil.copytree(made / "out", tmp_path / "out")
    before = load(folder)
    names = [{"split": "test", "data": "emoji", "pictures": {"noto": 9}}]
    names[0]["languages"] = {"de": {"found": 31.04, "names": 5}}
    (tmp_path / "names.json").write_text(json.dumps(names))
    (tmp_path / "speed.json").write_text(json.dumps({"queries": {"p50, ms": 2.5}}))
    right = {"captions": 7, "right": 0.5}
    swapped = {"all": {"women": right, "men": {"captions": 0, "right": None}}}
    found = {"pictures": {"women": 3, "men": 4}, "swapped": swapped, "neutral": {"a nurse": 0.25}}
    (tmp_path / "biases.json").write_text(json.dumps(found))
    options = ["--evaluation", made / "e.json", "--evaluation", tmp_path / "names.json"]
    options += ["--speed", tmp_path / "speed.json", "--biases", tmp_path / "biases.json"]
    options += ["--licence", "pictures: CC0", "--data", made / "toy", "--keep"]
    result = CliRunner().invoke(app, list(map(str, ["card", folder, *options])))
    assert result.exit_code == 0, result.output
    card = model_card(folder)
    assert "- pictures: CC0" in card
    assert "With captions of images, 2: German" in card
    assert "| mean (all) |" in card
    assert "\nGerman 31.0.\n" in card
    assert "| queries | p50, ms | 2.5 |" in card
    assert "| all | 7 | 50.0 | 0 | – |" in card
    assert "a nurse +0.25." in card
    assert "does not measure" not in card
    assert "- others" in model_card(folder, CardSources(licences=["others"]))
    told = model_card(folder, CardSources(reproduce="In two steps."))
    assert told.endswith("## How to reproduce it\n\nIn two steps.\n")
    assert load(folder).id == before.id
    assert before.id in load(folder).ids
    with pytest.raises(PolyglanceError, match="not an exported model"):
        keep_card(made / "run", CardSources())


def test_a_sentence_encoder_names_its_contamination(model_folder):
    recipe = load_recipe("sentence-nce")
    facts = ModelFacts(Path(), recipe, [], {}, False, [], "Trained on `x`.")
    assert "SNLI's premises are captions of Flickr30k" in "\n".join(_data(facts, []))
    assert "SNLI" not in model_card(model_folder)


def test_a_fine_tuned_model_names_its_parent():
    transfer = {"transfer.source": "base", "transfer.tune": True}
    facts = ModelFacts(Path(), load_recipe("polyglance-base", transfer), [], {}, False, [], "")
    assert _title(facts) == "polyglance-base, fine-tuned"
    summary = "\n".join(_summary(facts))
    assert "Made from `base`, the included model, by training it further" in summary
    assert "captions, parallel texts" not in summary
    assert "Made from" not in "\n".join(_summary(facts, "In two steps."))
    assert "polyglance train --from base --data DATA" in "\n".join(_reproduce(facts))
