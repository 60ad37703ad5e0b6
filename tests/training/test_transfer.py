"""Models that start from a trained one: T1 and T2, and languages added to models of any kind."""

from pathlib import Path

import numpy as np
import pytest
import torch
from polyglance.training.source import copy_weights
from polyglance.training.transfer import begin_model

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.models.compact import compact
from polyglance.recipes import load_recipe
from polyglance.text.embedders.added import AddedReader
from polyglance.text.vectors.word_vectors import save_vectors
from polyglance.training import train
from tests.conftest import TOY, WORDS, write_toy

ATTENTION = [
    *TOY,
    "text.embedder.word_dim=12",
    "text.encoder.heads=2",
    "text.encoder.head_dim=4",
    "training.epochs=12",
]
LIWE = [*TOY, "text.embedder.layers=[12, 10]", "text.embedder.char_dim=6", "training.epochs=12"]
LIWE += ["image.attention=false"]
TABLE = [*TOY, "training.epochs=12"]
TOWERS = [*TABLE, "text.towers=per-language", "sampling.kind=languages"]
UNIVERSAL = [
    *TABLE,
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=4",
    "text.embedder.frequent=4",
    "text.embedder.rare.updates=20",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.candidates=3",
    "sampling.pretrain_epochs=0",
    "training.epochs=15",
]
KINDS = {
    "table": ("vsepp", TABLE),
    "liwe": ("liwe", LIWE),
    "towers": ("vsepp", TOWERS),
    "vectors": ("translator", ATTENTION),
    "universal": ("smalr-hem", UNIVERSAL),
}
AFTER = {"universal": ["sampling.kind=languages", "loss.kind=sum-hinge", "loss.margin=0.2"]}
"""What the recipe of an extended model has besides, as 'add-language' says it."""
TEXTS = ["red dog runs", "a cat that sleeps", "zebra", "white"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A dataset, and an English model of every kind."""
    folder = tmp_path_factory.mktemp("world")
    return folder, load_dataset(str(write_toy(folder / "toy")))


@pytest.fixture(scope="module")
def trained(world):
    def source(kind):
        if not (world[0] / f"source-{kind}").exists():
            run(world, f"source-{kind}", kind, "data.languages=[en]")
        return world[0] / f"source-{kind}"

    return source


def run(world, name, kind, *overrides, resume=False):
    recipe, small = KINDS[kind]
    chosen = load_recipe(recipe, parse_overrides([*small, *overrides]), shared=True)
    folder, dataset = world
    return train(chosen, dataset, folder / name, resume, folder / "cache", show_progress=False)


def german(source, *overrides, dictionary="captions"):
    named = [f"transfer.source={source}", f"transfer.dictionary={dictionary}"]
    return [*named, "data.languages=[de]", *overrides]


def recall(result, code="de"):
    return result.progress.evaluations[-1]["mr"][code]


def test_an_aligned_translator_is_better_than_a_random_one_before_any_training(world, trained):
    source = trained("vectors")
    zero = german(source, "data.images=0", "transfer.method=svd")
    aligned = run(world, "t2", "vectors", *zero)
    random = run(world, "t1", "vectors", *zero, "transfer.translator=random")
    scratch = run(world, "fs", "vectors", "data.languages=[de]", "data.images=0")
    assert recall(aligned) > recall(random) + 20
    assert recall(aligned) > recall(scratch) + 20
    assert aligned.progress.finished == "nothing to train on"
    assert aligned.progress.update == 0
    state, old = aligned.model.network.state_dict(), Model.load(source).network.state_dict()
    for name, value in old.items():
        assert state[name].equal(value)
    assert set(state) - set(old) == {
        f"text.words.translators.language_de.{part}" for part in ("weight", "bias")
    }
    assert not state["text.words.translators.language_de.bias"].any()
    assert aligned.model.languages == ["de"]
    loaded = Model.load(world[0] / "t2")
    texts = ["roter hund läuft", "katze"]
    np.testing.assert_array_equal(
        loaded.encode_text(texts, "de"), aligned.model.encode_text(texts, "de")
    )


def test_fine_tuning_starts_from_the_source_and_keeps_the_best(world, trained):
    few = german(trained("vectors"), "data.images=20", "transfer.method=svd")
    result = run(world, "t2-few", "vectors", *few)
    assert result.progress.evaluations[0]["update"] == 0
    scores = [row["rsum"] for row in result.progress.evaluations]
    assert result.progress.best == pytest.approx(max(scores), abs=1e-3)
    moved = result.model.network.state_dict()["text.attention.last.weight"]
    old = Model.load(trained("vectors")).network.state_dict()["text.attention.last.weight"]
    assert result.progress.best_update == 0 or not moved.equal(old)


@pytest.mark.parametrize("kind", KINDS)
def test_an_added_language_leaves_all_others_as_they_were(world, trained, kind):
    source = trained(kind)
    old = Model.load(source)
    for name, photos in ((f"{kind}-0", 0), (f"{kind}-30", 30)):
        more = [f"data.images={photos}", "transfer.keep=true", "transfer.method=svd"]
        result = run(world, name, kind, *german(source, *more), *AFTER.get(kind, ()))
        new = Model.load(world[0] / name)
        assert new.languages == ["de", "en"]
        np.testing.assert_array_equal(old.encode_text(TEXTS, "en"), new.encode_text(TEXTS, "en"))
        if kind not in ("towers", "universal"):
            np.testing.assert_array_equal(old.encode_text(TEXTS[:2]), new.encode_text(TEXTS[:2]))
        state = new.network.state_dict()
        assert all(state[key].equal(value) for key, value in old.network.state_dict().items())
        found = evaluate(
            new, world[1], "test", languages=["de"], bootstrap=0, cache=world[0] / "cache"
        )
        assert found.results[0].metrics.mr > 60
        assert recall(result) > 60
    assert result.progress.update > 0


def test_a_compact_model_takes_a_language_as_the_whole_one_does(world, trained):
    compact(Model.load(trained("universal"))).save(world[0] / "compact")
    found = []
    for source in (trained("universal"), world[0] / "compact"):
        stored = f"text.embedder.stored={source.name == 'compact'}"
        more = german(source, "data.images=0", "transfer.keep=true", stored)
        name = f"{source.name}-german"
        found.append(run(world, name, "universal", *more, *AFTER["universal"]).model)
    whole, small = (model.encode_text(["roter hund läuft", "katze"], "de") for model in found)
    np.testing.assert_allclose(small, whole, atol=1e-5)
    with pytest.raises(PolyglanceError, match="given this model de; compact the model that"):
        compact(found[0])


def test_few_pairs_teach_words_that_the_dictionary_lacks(world, trained, tmp_path):
    (tmp_path / "pairs.txt").write_text("hund dog\nkatze cat\n")
    named = german(trained("table"), "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    zero = run(world, "poor", "table", *named, "data.images=0")
    few = run(world, "poor-60", "table", *named, "data.images=60", "training.epochs=30")
    assert isinstance(zero.model.reader, AddedReader)
    assert zero.model.reader.added["de"].words == ("hund", "katze")
    assert set(few.model.reader.added["de"].words) == {w for g in WORDS["de"] for w in g}
    assert recall(few) > recall(zero) + 15


def test_languages_are_added_one_after_the_other(world, trained, tmp_path):
    (tmp_path / "pairs.txt").write_text("perro dog\ngato cat\n")
    first = german(trained("liwe"), "transfer.keep=true", "data.images=0")
    run(world, "first", "liwe", *first)
    recipe, small = KINDS["liwe"]
    named = [f"transfer.source={world[0] / 'first'}", "transfer.keep=true"]
    named += [f"transfer.dictionary={tmp_path / 'pairs.txt'}", "data.languages=[es]"]
    chosen = load_recipe(recipe, parse_overrides([*small, *named]), shared=True)
    before = Model.load(world[0] / "first")
    both = begin_model(chosen, None, {}, before.feature_dim, world[0] / "first")
    both.save(tmp_path / "both")
    loaded = Model.load(tmp_path / "both")
    assert loaded.languages == ["de", "en", "es"]
    np.testing.assert_array_equal(
        loaded.encode_text(["roter hund"], "de"), before.encode_text(["roter hund"], "de")
    )
    # A word that has one translation is that word, wherever it stands in the sentence.
    sentences = {"perro": "dog", "perro gato": "dog cat", "gato perro gato": "cat dog cat"}
    for spanish, english in sentences.items():
        np.testing.assert_allclose(
            loaded.encode_text([spanish], "es"), loaded.encode_text([english], "en"), atol=1e-6
        )


def test_vectors_fill_in_for_words_that_the_dictionary_lacks(world, trained, tmp_path):
    """German vectors are the English ones turned, so neighbours are translations."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.normal(size=(300, 300)))[0]
    english, german_words = ([w for group in WORDS[c] for w in group] for c in ("en", "de"))
    matrix = generator.normal(size=(len(english), 300))
    save_vectors(tmp_path / "en.vec", english, matrix.astype(np.float32))
    save_vectors(tmp_path / "de.vec", german_words, (matrix @ turn).astype(np.float32))
    pairs = list(zip(german_words, english, strict=True))
    (tmp_path / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs[2:]))
    named = german(trained("table"), "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    named += ["transfer.method=svd", f"transfer.vectors={tmp_path}"]
    source = trained("table")
    old = Model.load(source)
    new = begin_model(
        load_recipe("vsepp", parse_overrides([*TABLE, *named])), world[1], {}, 16, source
    )
    assert set(new.reader.added["de"].words) == set(german_words)
    rows = new.network.text.added.tables["language_de"].detach()
    place = new.reader.added["de"].words.index("rot")
    table, vocabulary = old.network.text.words.weight, old.reader.tables[""]
    distance = (rows[place] - table[4:]).norm(dim=1)
    assert vocabulary.words[4 + int(distance.argmin())] == "red"


def test_copied_weights_are_those_that_both_have(world, trained):
    old = Model.load(trained("table"))
    torch.manual_seed(5)
    new = Model(old.recipe, old.reader, old.feature_dim, ["en"])
    assert not new.network.text.gru.weight_hh_l0.equal(old.network.text.gru.weight_hh_l0)
    copy_weights(old, new)
    np.testing.assert_array_equal(old.encode_text(TEXTS, "en"), new.encode_text(TEXTS, "en"))


@pytest.mark.parametrize(
    ("kind", "overrides", "message"),
    [
        (
            "table",
            ["text.encoder.hidden=8", "text.projection=true"],
            "trained with text.encoder.hidden=16, and the recipe has 8",
        ),
        ("table", ["data.languages=[en]"], "the model knows 'en' already"),
        ("table", ["transfer.keep=false"], "extended, with transfer.keep=true"),
        ("table", ["transfer.pivot=fr"], "transfer.pivot 'fr' is not the source's"),
        ("table", ["transfer.dictionary=lexicon"], "dictionary lexicon needs a lexicon"),
        ("table", ["transfer.source=null"], "it goes with transfer.source"),
        ("table", ["transfer.dictionary=identical"], "needs vectors of both languages"),
        (
            "vectors",
            ["text.embedder.vectors=nowhere"],
            "no such folder; give text.embedder.vectors",
        ),
        ("vectors", ["data.languages=null"], "data.images=0 needs data.languages"),
    ],
)
def test_mistakes(world, trained, tmp_path, monkeypatch, kind, overrides, message):
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    named = german(trained(kind), "transfer.keep=true", "data.images=0", *overrides)
    with pytest.raises(PolyglanceError, match=message):
        run(world, f"mistake-{len(list(Path(world[0]).iterdir()))}", kind, *named)


def test_a_word_by_word_dictionary_of_strangers_is_an_error(world, trained, tmp_path):
    (tmp_path / "pairs.txt").write_text("hund zebra\n")
    named = german(trained("table"), "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    with pytest.raises(PolyglanceError, match="knows none of the words that its 1 pairs"):
        run(world, "strangers", "table", *named, "data.images=0")
