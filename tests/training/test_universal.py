"""EmbN, PAR-EmbN, MULE and SMALR: trained on toy data, resumed, and with holes in the data."""

import gzip
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from polyglance.training.tuples import TuplesFeed
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.models.compact import compact
from polyglance.recipes import load_recipe
from polyglance.text.embedders.universal.embedder import ClosedVocabularies, Layout
from polyglance.text.embedders.universal.layer import UniversalWords
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.word_vectors import save_vectors
from polyglance.training import train, trainer
from polyglance.training.assignment import whitened
from polyglance.training.data import prepare
from tests.conftest import TOY
from tests.training.test_trainer import same

SMALL = [
    *TOY,
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=8",
    "text.embedder.rare.updates=20",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.candidates=3",
    "sampling.pretrain_epochs=1",
]
LATENT = ["text.embedder.frequent=4", "text.embedder.own_dim=4"]


def run(data: Path, out: Path, recipe: str, *overrides: str, resume: bool = False):
    chosen = load_recipe(recipe, parse_overrides([*SMALL, *overrides]), shared=True)
    cache = data.parent / "cache"
    return train(chosen, load_dataset(data), out, resume, cache, show_progress=False)


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("embn", ["data.languages=[de]", "sampling.pretrain_epochs=0"]),
        ("par-embn", []),
        ("mule", []),
        ("smalr-la", ["text.embedder.frequent=0"]),
        ("smalr-hem", LATENT),
        ("smalr", LATENT),
    ],
)
def test_every_recipe_learns(toy: Path, tmp_path: Path, recipe: str, changes: list[str]) -> None:
    result = run(toy, tmp_path / "run", recipe, "training.epochs=15", *changes)
    # 20 photographs are judged, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 50
    loaded = Model.load(tmp_path / "run")
    assert isinstance(loaded.reader, ClosedVocabularies)
    if recipe == "embn":  # which has one language only
        assert np.array_equal(loaded.encode_text(["rot"]), loaded.encode_text(["rot"], "de"))
    else:
        with pytest.raises(PolyglanceError, match="say which language"):
            loaded.encode_text(["rot"])
    np.testing.assert_allclose(
        loaded.encode_text(["ein hund läuft", "rot"], "de"),
        result.model.encode_text(["ein hund läuft", "rot"], "de"),
        atol=1e-6,
    )


HOLES = ["training.epochs=3", "training.batch_size=16"]


def with_holes(toy: Path) -> Path:
    """The toy dataset without German for every third photograph, and one caption of the others."""
    dataset = load_dataset(toy)
    photos = []
    for number, photo in enumerate(dataset.images):
        captions = {code: dict(kinds) for code, kinds in photo.captions.items()}
        if number % 3 == 0:
            del captions["de"]
        else:
            captions["de"] = {"independent": captions["de"]["independent"][:1]}
        photos.append(replace(photo, captions=captions))
    save_folder(toy, photos)
    return toy


def test_photographs_without_a_language_are_trained_on(toy: Path, tmp_path: Path) -> None:
    result = run(with_holes(toy), tmp_path / "run", "smalr", *HOLES, *LATENT)
    assert result.progress.update == 3 * 8  # 120 photographs, 16 an update
    assert {"de", "en"} == set(result.progress.evaluations[-1]["mr"])


def test_batches_have_every_photograph_once_and_its_own_captions(toy: Path, tmp_path: Path) -> None:
    recipe = load_recipe("mule", parse_overrides([*SMALL, *HOLES]), shared=True)
    _, data = prepare(recipe, load_dataset(with_holes(toy)), tmp_path / "cache", False)
    feed = TuplesFeed(recipe, data)
    steps = feed.steps(0)
    batches = [next(steps) for _ in range(feed.updates_per_epoch)]
    seen = np.concatenate([batch.photos for batch in batches])
    assert sorted(seen.tolist()) == sorted(set(data.photo.tolist()))
    for batch in batches:
        there = batch.captions >= 0
        owner = np.broadcast_to(batch.photos[None, :, None], batch.captions.shape)
        assert (data.photo[batch.captions[there]] == owner[there]).all()
        for number, code in enumerate(feed.codes):
            rows = batch.captions[number][batch.has[number]]
            assert {data.languages[row] for row in rows.ravel()} == {code}
        english = batch.captions[feed.codes.index("en")]
        assert (english[:, 0] != english[:, 1]).all()  # two are there, so two are drawn
        german = batch.captions[feed.codes.index("de")]
        assert (german[:, 0] == german[:, 1]).all()
    assert 0 < np.mean([batch.has[feed.codes.index("de")].mean() for batch in batches]) < 1
    again = next(feed.steps(3))
    assert np.array_equal(again.captions, batches[3].captions)
    found = batches[0].distinct(data.tokens)
    laid = np.append(found.rows, -1)[found.places]
    assert np.array_equal(laid, batches[0].captions)


def test_a_resumed_run_has_the_same_bits(toy: Path, tmp_path: Path, monkeypatch: Any) -> None:
    changes = [*LATENT, "training.epochs=4", "compat.anchor=true", "image.dropout=0.5"]
    run(toy, tmp_path / "whole", "smalr", *changes)
    stop = trainer._Trainer._update

    def update(self: Any, batch: Any, bar: Any) -> None:
        stop(self, batch, bar)
        if self.done.update == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(trainer._Trainer, "_update", update)
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", "smalr", *changes)
    monkeypatch.setattr(trainer._Trainer, "_update", stop)
    # The tokens are learnt again: they must come out the same.
    shutil.rmtree(toy.parent / "cache")
    run(toy, tmp_path / "cut", "smalr", *changes, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_pretraining_leaves_word_vectors_as_they_are(toy: Path, tmp_path: Path) -> None:
    changes = ["training.updates=3", "sampling.pretrain_updates=3"]
    result = run(toy, tmp_path / "run", "mule", *changes)
    words = result.model.network.text.words
    assert isinstance(words, UniversalWords)
    start = ClosedVocabularies.load(tmp_path / "run")
    recipe = load_recipe("mule", parse_overrides([*SMALL, *changes]), shared=True)
    fresh, _ = prepare(recipe, load_dataset(toy), toy.parent / "cache", False)
    assert start.tables == fresh.reader.tables
    begun = fresh.network.text.words
    for old, new in zip(begun.own_tables(), words.own_tables(), strict=True):
        assert torch.equal(old, new)
    name = "language_de"
    assert not torch.equal(begun.projections[name].weight, words.projections[name].weight)


@pytest.mark.parametrize("recipe", ["par-embn", "smalr"])
def test_a_compact_model_gives_the_same(toy: Path, tmp_path: Path, recipe: str) -> None:
    changes = LATENT if recipe == "smalr" else []
    model = run(toy, tmp_path / "run", recipe, "training.epochs=2", *changes).model
    result = CliRunner().invoke(
        app, ["compact", str(tmp_path / "run"), "--out", str(tmp_path / "small")]
    )
    assert result.exit_code == 0, result.output
    small = Model.load(tmp_path / "small")
    texts = ["rot hund läuft", "katze", "zebra", "weiß auto schläft"]
    np.testing.assert_allclose(
        small.encode_text(texts, "de"), model.encode_text(texts, "de"), atol=1e-5
    )
    dataset = load_dataset(toy).split("test")
    np.testing.assert_allclose(
        small.encode_dataset(dataset), model.encode_dataset(dataset), atol=1e-5
    )
    trained, deployed = model.parameters(), small.parameters()
    assert deployed["words"] == 0
    assert deployed["all"] == trained["all"] - trained["words"]
    towers = 2 if recipe == "par-embn" else 1
    assert deployed["frozen"] == (model.reader.layout.total - 1 + towers) * 8
    with pytest.raises(PolyglanceError, match="compact already"):
        compact(small)


def test_the_matching_model_of_the_paper_has_7086592_numbers(toy: Path, tmp_path: Path) -> None:
    reader = ClosedVocabularies({"en": {"dog": 1, "cat": 2}}, Layout(1, {"en": 1}))
    model = Model(load_recipe("smalr"), reader, 2048, ["en"])
    assert compact(model).parameters()["all"] == 7_086_592
    words = 512 + 50 + (50 * 512 + 512) + 512  # latent, own, its layer, [MASK]
    assert model.parameters()["words"] == words


def test_texts_of_unknown_words_alone_are_read_as_nothing(toy: Path, tmp_path: Path) -> None:
    model = run(
        toy, tmp_path / "run", "mule", "training.epochs=2", "text.embedder.min_count=70"
    ).model
    # Captions of which no word occurs 70 times are left out of training, and can be encoded.
    points = model.encode_text(["zebra", "quagga zebra", "hund"], "de")
    assert np.isfinite(points).all()
    assert np.array_equal(points[0], points[1])
    assert model.reader.recognise(model.recipe.text, ["hund", "zebra"], "de")[1][-1:] == ("zebra",)


def test_dictionary_and_threshold_and_pca(toy: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv.gz"
    with gzip.open(lexicon, "wt", encoding="utf-8") as handle:
        handle.write("1-n\ten\tdog\n1-n\tde\thund\n2-n\ten\tcar\n2-n\tde\tauto\n")
    changes = [
        f"text.embedder.lexicon={lexicon}",
        "text.embedder.frequent_count=65",
        "text.embedder.own_dim=4",
    ]
    recipe = load_recipe("dictionary", parse_overrides([*SMALL, *changes]), shared=True)
    model, _ = prepare(recipe, load_dataset(toy), tmp_path / "cache", False)
    tables, layout = model.reader.tables, model.reader.layout
    counts = Counter(w for p in load_dataset(toy).split("train").images for w in words_of(p, "de"))
    rare = {word for word, n in counts.items() if n < 65}
    assert rare
    for word, english in (("hund", "dog"), ("auto", "car")):
        expected = tables["en"][english] if word in rare else tables["de"].get(word)
        assert tables["de"].get(word) == expected
    kept = {
        word for word, token in tables["de"].items() if token in range(*layout.own_ranges["de"])
    }
    assert kept == set(counts) - rare
    assert model.network.text.words.own_tables()[0].shape[1] == 4


def words_of(photo: Any, code: str) -> list[str]:
    return [word for texts in photo.captions[code].values() for t in texts for word in t.split()]


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("mule", ["loss.kind=max-hinge"], "loss.kind=triplets"),
        ("mule", ["augment.word_drop=0.1"], "use sampling.masking_weight"),
        ("mule", ["text.embedder.vectors=nowhere"], "no such folder"),
        ("mule", ["text.embedder.own_dim=9"], "text.embedder.own_dim is 9"),
        ("mule", ["text.embedder.stored=true"], "polyglance compact"),
        ("mule", ["joint.similarity.kind=order"], "compares by cosine"),
        ("dictionary", ["text.embedder.frequent_count=100"], "needs a lexicon"),
        ("smalr", ["text.towers=per-language", "text.embedder.frequent=2"], "shares no words"),
        (
            "smalr-la",
            ["text.embedder.frequent=0", "compat.padded_average=true"],
            "words of their own",
        ),
    ],
)
def test_mistakes_are_told(
    toy: Path, tmp_path: Path, monkeypatch: Any, recipe: str, changes: list[str], message: str
) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    with pytest.raises(PolyglanceError, match=message):
        run(toy, tmp_path / "run", recipe, *changes)


def test_averages_over_padding_count_the_layers_bias(toy: Path, tmp_path: Path) -> None:
    changes = ["compat.padded_average=true", "text.max_length=10"]
    recipe = load_recipe("mule", parse_overrides([*SMALL, *changes]), shared=True)
    model, data = prepare(recipe, load_dataset(toy), tmp_path / "cache", False)
    plain = load_recipe("mule", parse_overrides([*SMALL, "text.max_length=10"]), shared=True)
    other, _ = prepare(plain, load_dataset(toy), tmp_path / "cache", False)
    state = {k: v for k, v in model.network.state_dict().items() if "padding" not in k}
    other.network.load_state_dict(state)
    row = data.languages.index("de")
    ids, lengths = (torch.from_numpy(part) for part in data.tokens.pad(np.array([row])))
    speakers = torch.zeros(1, dtype=torch.int64)
    _, padded = model.network.text.read(ids, lengths, speakers)
    _, average = other.network.text.read(ids, lengths, speakers)
    bias = model.network.text.words.projections["language_de"].bias
    count = int(lengths)
    torch.testing.assert_close(padded, average + (10 - count) / count * bias)
    vectors = other.network.text.words(ids[0].unique())
    expected = vectors[torch.unique(ids[0], return_inverse=True)[1]].mean(0, keepdim=True)
    torch.testing.assert_close(average, expected)


def trained_vectors(toy: Path, cache: Path, *overrides: str) -> np.ndarray:
    """Of German words, as the model starts."""
    model, _ = prepare(
        load_recipe("mule", parse_overrides([*SMALL, *overrides]), shared=True),
        load_dataset(toy),
        cache,
        False,
    )
    reader = model.reader
    assert isinstance(reader, ClosedVocabularies)
    assert reader.start is not None
    return reader.start.own["de"]


def test_vectors_are_trained_on_the_texts_at_hand(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    read: list[list[list[str]]] = []
    real = train_vectors.train_vectors

    def watched(sentences: Any, *more: Any, **settings: Any) -> Any:
        read.append([list(words) for words in sentences])
        return real(sentences, *more, **settings)

    monkeypatch.setattr(train_vectors, "train_vectors", watched)
    cache, captions = tmp_path / "cache", "text.embedder.corpus=captions"
    alone = trained_vectors(toy, cache, captions)
    assert np.array_equal(trained_vectors(toy, cache), alone)  # there are no other texts
    assert len(read) == 2
    assert ["ein", "roter", "hund"] not in read[0]
    line = json.dumps({"captions": {"de": {"independent": ["Ein roter Hund"]}}})
    (toy / "text-only.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    assert np.array_equal(trained_vectors(toy, cache, captions), alone)
    more = trained_vectors(toy, cache)
    assert read[2] == [*read[0], ["ein", "roter", "hund"]]
    assert not np.array_equal(more, alone)
    lexicon = tmp_path / "lexicon.tsv.gz"
    with pytest.raises(PolyglanceError, match="corpus=lexicon needs a lexicon"):
        trained_vectors(toy, cache, "text.embedder.corpus=lexicon")
    monkeypatch.setenv("POLYGLANCE_LEXICON", str(lexicon))
    with pytest.raises(PolyglanceError, match=r"lexicon.tsv.gz: "):
        trained_vectors(toy, cache, "text.embedder.corpus=lexicon")
    lexicon.write_bytes(gzip.compress("1\tde\thund|köter\n".encode()))
    trained_vectors(toy, cache, "text.embedder.corpus=lexicon")
    count = len(read)
    assert [*read[2], ["hund", "köter"]] in read
    # Fewer words, and a second model, take the vectors that are there.
    few = trained_vectors(toy, cache, "text.embedder.min_count=60")
    assert len(read) == count
    assert 0 < len(few) < len(more)
    assert all(any(np.array_equal(one, other) for other in more) for one in few)


def test_vectors_come_from_a_users_files(toy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    for code, words in (("en", ["dog", "cat", "runs"]), ("de", ["hund", "katze"])):
        matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
        save_vectors(folder / f"{code}.vec", words, matrix, digits=9)
    recipe = load_recipe(
        "mule", parse_overrides([*SMALL, f"text.embedder.vectors={folder}"]), shared=True
    )
    model, data = prepare(recipe, load_dataset(toy), tmp_path / "cache", False)
    assert set(model.reader.tables["de"]) == {"hund", "katze"}
    german = read_vectors(folder / "de.vec")
    order = [german.index[word] for word in model.reader.tables["de"]]
    found = model.network.text.words.own_tables()[0].detach().numpy()
    np.testing.assert_array_equal(found, german.matrix[order])
    feed = TuplesFeed(recipe, data)  # captions without a known word are left out
    assert len(feed.photos) < len(set(data.photo.tolist()))


def test_whitened_vectors_have_no_strong_direction() -> None:
    generator = np.random.default_rng(0)
    skewed = generator.normal(size=(200, 6)) @ generator.normal(size=(6, 6)) * 5 + 3
    white = whitened(skewed.astype(np.float32))
    np.testing.assert_allclose(white.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(6), atol=1e-3)
    # Of one word, or of words all alike, nothing is made up.
    assert not whitened(np.ones((1, 4), np.float32)).any()
    flat = np.zeros((50, 3), np.float32)
    flat[:, 0] = generator.normal(size=50)
    assert (np.sort(whitened(flat).std(0)) < [1e-3, 1e-3, 1.01]).all()
