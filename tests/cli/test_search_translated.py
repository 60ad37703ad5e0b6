"""Searching in a language that the model does not know."""

import json

import pytest
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TableEmbedder, Vocabulary

pytestmark = pytest.mark.usefixtures("thumbnails")


@pytest.fixture
def search(tmp_path, run):
    """The command on two pictures and a model of English and German, with a file to translate."""
    changes = [
        "image.feature=x/global",
        "text.embedder.word_dim=4",
        "text.encoder.hidden=4",
        "joint.dim=4",
    ]
    recipe = load_recipe("nce", parse_overrides(changes))
    words = TableEmbedder(recipe, {"": Vocabulary(["dog", "hund", "red"])})
    Model(recipe, words, 48, ["de", "en"]).save(tmp_path / "model")
    for name in ("red", "blue"):
        (tmp_path / "pictures").mkdir(exist_ok=True)
        Image.new("RGB", (30, 20), name).save(tmp_path / "pictures" / f"{name}.png")
    (tmp_path / "t.jsonl").write_text('{"fr": "chien rouge", "en": "red dog", "de": "hund"}\n')
    folders = [tmp_path / "model", tmp_path / "pictures"]
    translator = ["--translator", f"file:{tmp_path / 't.jsonl'}"]
    return lambda *words: run("search", *folders, *words), translator


def test_a_query_is_translated_to_english_or_what_is_asked_for(search):
    ask, translator = search
    found = ask("chien rouge", "--language", "fr", *translator, "--json", "-")
    assert "'chien rouge' is searched for as 'red dog'" in found.stderr
    wanted = json.loads(ask("red dog", "--language", "en", "--json", "-").stdout)["queries"]
    assert json.loads(found.stdout)["queries"] == wanted
    german = ask("chien rouge", "--language", "fr", *translator, "--translate-to", "de")
    assert "as 'hund'" in german.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chien rouge"], "needs the --language of the queries"),
        (["chat", "--language", "fr"], "no translation of 'chat' to en"),
        (["chien rouge", "--language", "fr", "--translate-to", "ja"], "the model knows de, en"),
    ],
)
def test_invalid_input_is_refused(search, arguments, message):
    ask, translator = search
    with pytest.raises(PolyglanceError, match=message):
        ask(*arguments, *translator)
    with pytest.raises(PolyglanceError, match="--translate-to needs a --translator"):
        ask("dog", "--translate-to", "en")
