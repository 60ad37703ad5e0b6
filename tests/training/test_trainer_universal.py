"""EmbN, PAR-EmbN, MULE and SMALR: trained on toy data, resumed, and with holes in the data."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.data import load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.storage.files import read_json
from polyglance.text.embedders import UniversalEmbedder
from polyglance.text.embedders.universal.layer import UniversalWords
from polyglance.training import Callback, Result
from polyglance.training.assignment import assign_tokens
from polyglance.training.inputs.data import TrainingData, fresh_model, prepare
from tests.conftest import TOY
from tests.training import runs
from tests.training.runs import same, stop_after

SMALL = [
    *TOY,
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=8",
    "text.embedder.rare.assignment.updates=20",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.assignment.candidates=3",
    "sampling.pretrain_epochs=1",
]
LATENT = ["text.embedder.frequent=4", "text.embedder.own_dim=4"]


def run(
    data: Path,
    out: Path,
    recipe: str,
    *overrides: str,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Result:
    return runs.run(
        data, out, *overrides, recipe=recipe, resume=resume, callbacks=callbacks, small=SMALL
    )


def prepared(toy: Path, recipe: str, *overrides: str) -> tuple[Model, TrainingData]:
    """The model as it starts, and its captions."""
    chosen = load_recipe(recipe, parse_overrides([*SMALL, *overrides]), shared=True)
    torch.manual_seed(0)
    cache = toy.parent / "cache"
    start, data = prepare(chosen, load_dataset(toy), fresh_model, assign_tokens, cache, False)
    return start.model, data


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
    # 20 images are evaluated, and many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 50
    loaded = Model.load(tmp_path / "run")
    assert isinstance(loaded.embedder, UniversalEmbedder)
    if recipe == "embn":  # which has one language only
        assert np.array_equal(loaded.encode_text(["rot"]), loaded.encode_text(["rot"], "de"))
    else:
        with pytest.raises(PolyglanceError, match="state the language"):
            loaded.encode_text(["rot"])
    np.testing.assert_allclose(
        loaded.encode_text(["ein hund läuft", "rot"], "de"),
        result.model.encode_text(["ein hund läuft", "rot"], "de"),
        atol=1e-6,
    )


HOLES = ["training.epochs=3", "training.batch_size=16"]


def with_holes(toy: Path) -> Path:
    """The toy dataset without German for every third image, and one caption of the others."""
    dataset = load_dataset(toy)
    images = []
    for number, image in enumerate(dataset.images):
        captions = {code: dict(kinds) for code, kinds in image.captions.items()}
        if number % 3 == 0:
            del captions["de"]
        else:
            captions["de"] = {"independent": captions["de"]["independent"][:1]}
        images.append(replace(image, captions=captions))
    save_folder(toy, images)
    return toy


def test_images_without_a_language_are_trained_on(toy: Path, tmp_path: Path) -> None:
    result = run(with_holes(toy), tmp_path / "run", "smalr", *HOLES, *LATENT)
    assert result.progress.update == 3 * 15  # 120 images with 2 English captions, 16 an update
    assert {"de", "en"} == set(result.progress.evaluations[-1]["mr"])


def test_texts_of_unknown_words_alone_are_read_as_nothing(toy: Path, tmp_path: Path) -> None:
    model = run(
        toy, tmp_path / "run", "mule", "training.epochs=2", "text.embedder.min_count=70"
    ).model
    # Captions of which no word occurs 70 times are left out of training, and can be encoded.
    embeddings = model.encode_text(["zebra", "quagga zebra", "hund"], "de")
    assert np.isfinite(embeddings).all()
    assert np.array_equal(embeddings[0], embeddings[1])
    assert model.embedder.unknown(["hund", "zebra"], "de")[1][-1:] == ("zebra",)


def test_a_resumed_run_has_the_same_bits(toy: Path, tmp_path: Path) -> None:
    changes = [*LATENT, "training.epochs=4", "compat.anchor=true", "image.dropout=0.5"]
    run(toy, tmp_path / "whole", "smalr", *changes)
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", "smalr", *changes, callbacks=stop_after(7))
    # The tokens are learned again: they must come out the same.
    shutil.rmtree(toy.parent / "cache")
    run(toy, tmp_path / "cut", "smalr", *changes, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_pretraining_leaves_word_vectors_as_they_are(toy: Path, tmp_path: Path) -> None:
    changes = ["training.updates=3", "sampling.pretrain_updates=3"]
    result = run(toy, tmp_path / "run", "mule", *changes)
    words = result.model.network.text.of("de").words
    assert isinstance(words, UniversalWords)
    fresh, _ = prepared(toy, "mule", *changes)
    saved = UniversalEmbedder.load(fresh.recipe, tmp_path / "run")
    assert isinstance(fresh.embedder, UniversalEmbedder)
    assert saved.tables == fresh.embedder.tables
    begun = fresh.network.text.of("de").words
    assert isinstance(begun, UniversalWords)
    for old, new in zip(begun.own_tables(), words.own_tables(), strict=True):
        assert torch.equal(old, new)
    name = "language_de"
    assert not torch.equal(begun.projections[name].weight, words.projections[name].weight)


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("mule", ["loss.kind=max-hinge"], "loss.kind=triplets"),
        ("mule", ["augment.word_drop=0.1"], "use sampling.masking_weight"),
        ("mule", ["text.embedder.vectors=nowhere"], "no such folder"),
        ("mule", ["text.embedder.own_dim=9"], "text.embedder.own_dim is 9"),
        ("mule", ["text.embedder.stored=true"], "polyglance compact"),
        ("mule", ["joint.similarity.kind=order"], "needs joint.similarity.kind=cosine"),
        ("dictionary", ["text.embedder.frequent_count=100"], "needs a lexicon"),
        ("smalr", ["text.towers=per-language", "text.embedder.frequent=2"], "shares no words"),
        (
            "smalr-la",
            ["text.embedder.frequent=0", "compat.padded_average=true"],
            "words of their own",
        ),
        (
            "mule",
            ["text.embedder.frequent_count=1000", "compat.padded_average=true"],
            "lower text.embedder.frequent_count",
        ),
    ],
)
def test_invalid_input_is_refused(
    toy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recipe: str,
    changes: list[str],
    message: str,
) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    with pytest.raises(PolyglanceError, match=message):
        run(toy, tmp_path / "run", recipe, *changes)


def test_a_run_reports_how_far_languages_share_tokens(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lexicon.tsv").write_text(
        "1-n\tde\tHund\n1-n\ten\tdog\n2-n\tde\tRot\n2-n\ten\tred\n"
    )
    monkeypatch.setenv("POLYGLANCE_LEXICON", str(tmp_path / "lexicon.tsv"))
    changes = ["training.updates=2", "text.embedder.rare.tokens=40"]
    result = run(toy, tmp_path / "run", "smalr-la", *changes, "text.embedder.frequent=0")
    embedder = result.model.embedder
    assert isinstance(embedder, UniversalEmbedder)
    german, english = embedder.tables["de"], embedder.tables["en"]
    used, both = {*german.values(), *english.values()}, {*german.values()} & {*english.values()}
    on_one = (german["hund"] == english["dog"]) + (german["rot"] == english["red"])
    assert result.tokens == {
        "used": len(used),
        "shared": round(100 * len(both) / len(used), 3),
        "pairs": 50.0 * on_one,
        "lexicon_pairs": 2,
    }
    assert read_json(tmp_path / "run" / "model.json")["tokens"] == result.tokens
    first = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0]
    assert json.loads(first) == {"update": 0, "tokens": result.tokens}
    assert not run(toy, tmp_path / "own", "mule", "training.updates=2").tokens
