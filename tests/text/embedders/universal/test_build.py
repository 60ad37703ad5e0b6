"""Which words have vectors of their own, and what becomes of the others."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TrainingTexts
from polyglance.text.embedders.base import TokenAssignment
from polyglance.text.embedders.universal.build import build_tokens
from polyglance.text.vectors.word_vectors import save_vectors
from tests.conftest import write_toy
from tests.text.embedders.texts import training_texts

CAPTIONS = {"de": ["hund hund hund", "rot rot", "köter"], "en": ["dog dog", "cat", "red red red"]}
ORDER = {"de": ["hund", "rot", "köter"], "en": ["red", "dog", "cat"]}


@pytest.fixture
def made(tmp_path: Path):
    """Vectors of all words in files, and a function that builds tokens from them."""
    vectors = {}
    for number, (code, words) in enumerate(ORDER.items()):
        matrix = np.random.default_rng(number).normal(size=(3, 6)).astype(np.float32)
        save_vectors(tmp_path / "vectors" / f"{code}.vec", words, matrix, digits=9)
        vectors[code] = matrix
    dataset = load_dataset(write_toy(tmp_path / "toy", 8))
    small = [
        "text.embedder.word_dim=5",
        "text.embedder.own_dim=6",
        "text.embedder.min_count=1",
        f"text.embedder.vectors={tmp_path / 'vectors'}",
    ]

    def build(name: str, *changes: str, assign=None):
        recipe = load_recipe(name, parse_overrides([*small, *changes]))
        texts = training_texts(CAPTIONS, dataset)
        texts = TrainingTexts(texts.captions, texts.words, dataset, None, False, assign)
        return build_tokens(recipe, texts)

    return build, vectors


def test_all_words_keep_their_own_vectors(made) -> None:
    build, vectors = made
    tables, layout, first = build("mule")
    assert tables == {
        "de": {"hund": 1, "rot": 2, "köter": 3},
        "en": {"red": 4, "dog": 5, "cat": 6},
    }
    assert (layout.latent, dict(layout.own)) == (0, {"de": 3, "en": 3})
    for code, matrix in vectors.items():
        np.testing.assert_array_equal(first.own[code], matrix)
    assert first.latent is None


def test_rare_words_are_dropped_or_reduced(made) -> None:
    build, _ = made
    tables, _, first = build("mule", "text.embedder.frequent_count=2", "text.embedder.own_dim=2")
    assert tables == {"de": {"hund": 1, "rot": 2}, "en": {"red": 3, "dog": 4}}
    assert first.own["de"].shape == (2, 2)
    kept = build("mule", "text.embedder.frequent=1")[0]
    assert kept == {"de": {"hund": 1}, "en": {"red": 2}}
    assert build("mule", "text.embedder.min_count=3")[0] == {"de": {"hund": 1}, "en": {"red": 2}}


def test_rare_words_share_latent_tokens_and_unused_ones_go(made) -> None:
    build, vectors = made
    latent = np.arange(45, dtype=np.float32).reshape(9, 5)

    def assign(recipe, given, texts) -> TokenAssignment:
        assert {code: own.words for code, own in given.items()} == ORDER
        return TokenAssignment({"de": np.array([0, 7, 3]), "en": np.array([0, 3, 7])}, latent)

    tables, layout, first = build("smalr", "text.embedder.frequent=1", assign=assign)
    assert tables == {
        "de": {"hund": 3, "rot": 2, "köter": 1},
        "en": {"red": 4, "dog": 1, "cat": 2},
    }
    assert (layout.latent, dict(layout.own)) == (2, {"de": 1, "en": 1})
    np.testing.assert_array_equal(first.latent, latent[[3, 7]])
    np.testing.assert_array_equal(first.own["en"], vectors["en"][:1])
    with pytest.raises(ValueError, match="pass assign_tokens"):
        build("smalr", "text.embedder.frequent=1")


def test_rare_words_become_words_of_the_pivot(made, tmp_path: Path) -> None:
    build, _ = made
    lexicon = tmp_path / "lexicon.tsv.gz"
    lines = "1-n\ten\tdog\n1-n\tde\tköter|hund\n2-n\ten\tunread\n2-n\tde\trot\n"
    lexicon.write_bytes(gzip.compress(lines.encode()))
    changes = [f"text.embedder.lexicon={lexicon}", "text.embedder.frequent_count=3"]
    tables, layout, _ = build("dictionary", *changes)
    # English, the pivot, keeps all of its words; of the rare German ones one has a translation.
    assert tables == {"de": {"hund": 1, "köter": 3}, "en": {"red": 2, "dog": 3, "cat": 4}}
    assert dict(layout.own) == {"de": 1, "en": 3}
    with pytest.raises(PolyglanceError, match="'fr' is not among the training languages, de, en"):
        build("dictionary", *changes, "text.embedder.rare.pivot=fr")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # A lexicon has German nouns with a capital, captions are read in lower case.
        ("lexicon.tsv", "1-n\ten\tDog\n1-n\tde\tKöter\n2-n\ten\tunread\n2-n\tde\tRot\n"),
        # MUSE's dictionaries are in lower case, with whitespace between.
        ("de-en.0-5000.txt", "köter dog\nrot unread\n"),
    ],
)
def test_dictionaries_are_looked_up_in_lower_case(made, tmp_path: Path, name, text) -> None:
    build, _ = made
    (tmp_path / name).write_text(text)
    changes = [f"text.embedder.lexicon={tmp_path / name}", "text.embedder.frequent_count=3"]
    tables = build("dictionary", *changes)[0]
    assert tables["de"] == {"hund": 1, "köter": tables["en"]["dog"]}


def test_invalid_input_is_refused(made, monkeypatch: pytest.MonkeyPatch) -> None:
    build, _ = made
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    with pytest.raises(PolyglanceError, match=r"own_dim is 9, but the vectors of 'de' have dimen"):
        build("mule", "text.embedder.own_dim=9")
    with pytest.raises(PolyglanceError, match="written by 'polyglance compact'"):
        build("mule", "text.embedder.stored=true")
    with pytest.raises(PolyglanceError, match="needs a lexicon"):
        build("dictionary", "text.embedder.frequent_count=3")
