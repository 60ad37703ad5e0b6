"""Models that start from a trained one: T1 and T2, and languages added to models of any kind."""

from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.models.compact import compact
from polyglance.text.embedders.added import AddedEmbedder
from tests.conftest import WORDS
from tests.training.runs import same, stop_after
from tests.transfer.sources import KINDS, german, recall, run

AFTER = {"universal": ["sampling.kind=languages", "loss.kind=sum-hinge", "loss.margin=0.2"]}
"""What the recipe of an extended model has besides, as 'add-language' says it."""
TEXTS = ["red dog runs", "a cat that sleeps", "zebra", "white"]


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
    best = scores.index(max(scores))
    assert result.progress.best_update == result.progress.evaluations[best]["update"] > 0
    assert not moved.equal(old)


@pytest.mark.parametrize("kind", KINDS)
def test_an_added_language_leaves_all_others_as_they_were(world, trained, kind):
    source = trained(kind)
    old = Model.load(source)
    for name, images in ((f"{kind}-0", 0), (f"{kind}-30", 30)):
        more = [f"data.images={images}", "transfer.keep=true", "transfer.method=svd"]
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
    with pytest.raises(PolyglanceError, match="added de to this model; compact the original"):
        compact(found[0])


def test_few_pairs_teach_words_that_the_dictionary_lacks(world, trained, tmp_path):
    (tmp_path / "pairs.txt").write_text("hund dog\nkatze cat\n")
    named = german(trained("table"), "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    zero = run(world, "poor", "table", *named, "data.images=0")
    few = run(world, "poor-60", "table", *named, "data.images=60", "training.epochs=30")
    assert isinstance(zero.model.embedder, AddedEmbedder)
    assert zero.model.embedder.added["de"].words == ("hund", "katze")
    assert set(few.model.embedder.added["de"].words) == {w for g in WORDS["de"] for w in g}
    assert recall(few) > recall(zero) + 15


@pytest.mark.parametrize(
    ("kind", "overrides", "message"),
    [
        (
            "table",
            ["text.embedder.word_dim=9"],
            "trained with text.embedder.word_dim=8, but the recipe has 9",
        ),
        ("table", ["data.languages=[en]"], "the model already has 'en'"),
        ("table", ["transfer.keep=false"], "set transfer.keep=true"),
        ("table", ["transfer.pivot=fr"], "transfer.pivot 'fr' is not a language of the source"),
        ("table", ["transfer.dictionary=lexicon"], "dictionary lexicon needs a lexicon"),
        ("table", ["transfer.source=null"], "set transfer.source"),
        ("table", ["transfer.dictionary=identical"], "needs vectors of both languages"),
        (
            "vectors",
            ["text.embedder.vectors=nowhere"],
            "no such folder; set text.embedder.vectors",
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


@pytest.mark.parametrize("kind", ["table", "vectors"])
def test_a_killed_transfer_resumes_to_the_same_bits(world, trained, kind):
    few = german(trained(kind), "transfer.keep=true", "data.images=40", "transfer.method=svd")
    few += ["training.epochs=3", "training.evaluate_every=2"]
    run(world, f"{kind}-whole", kind, *few)
    with pytest.raises(KeyboardInterrupt):
        run(world, f"{kind}-cut", kind, *few, callbacks=stop_after(3))
    again = run(world, f"{kind}-cut", kind, *few, resume=True)
    assert same(world[0] / f"{kind}-whole", world[0] / f"{kind}-cut")
    # The model as it started is evaluated once, not again at the resumption.
    assert [row["update"] for row in again.progress.evaluations][:3] == [0, 2, 4]


def test_a_source_beside_the_run(world, trained):
    """`run:KEY` is how a study names the model of another of its runs."""
    run(world, "study/base/model", "table", "data.languages=[en]", "training.updates=1")
    named = german("run:base", "transfer.keep=true", "data.images=0")
    result = run(world, "study/extended/model", "table", *named)
    assert result.model.languages == ["de", "en"]
