"""`polyglance train --from`: models trained on, from runs and from exports."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance import Model
from polyglance.cli import app
from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.runtime import ExportedModel, export_model, load
from polyglance.training import Callback
from polyglance.training.trainer import Trainer
from polyglance.transfer import train_recipe, tuning_recipe
from polyglance.transfer.tune import tuned_model
from tests.text.subword_models import sentence_model

FILES = (
    "data.more=[more.jsonl.gz]",
    "text.embedder.kept_pieces=9",
    "text.embedder.piece_texts=[parallel.jsonl.gz]",
)
FILES += ("sampling.kind=images", "sampling.text_only=true", "sampling.text_files=[p.jsonl.gz]")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained sentence encoder, exported in few bits; its training needed other files."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    model = sentence_model(*FILES)
    model.network.text.words.weight.data.normal_()
    export_model(model, folder, "int8", table_bits=4)
    return folder


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: object) -> str:
    with pytest.raises(PolyglanceError) as error:
        CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return str(error.value)


def test_the_recipe_is_the_sources_without_its_files(exported: Path) -> None:
    old = load(exported).recipe
    recipe = tuning_recipe(exported, {"training.updates": 7})
    assert recipe.training.lr == pytest.approx(0.1 * old.training.lr)
    assert recipe.training.updates == 7
    assert recipe.data.more == []
    assert recipe.text.embedder.piece_texts == []
    assert not recipe.sampling.text_only
    assert recipe.sampling.text_files == []
    assert recipe.sampling.captions == old.sampling.captions
    assert recipe.transfer.source == str(exported)
    assert (recipe.image, recipe.joint, recipe.loss) == (old.image, old.joint, old.loss)
    with pytest.raises(PolyglanceError, match="rate"):
        tuning_recipe(exported, {"training.rate": 1})


def test_base_is_trained_on_and_becomes_a_run(
    exported: Path, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_MODEL", str(exported))
    run, cache = tmp_path / "run", ["--cache", tmp_path / "cache"]
    more = ["--set", "training.updates=60", "--set", "training.lr=0.01", "--languages", "en"]
    found = invoke("train", "--from", "base", "--data", toy, "--out", run, *more, *cache)
    assert f"model: {run}" in found
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scores = {row["update"]: row["mr"]["en"] for row in rows if "mr" in row}
    assert list(scores)[:2] == [0, 8]
    assert max(scores.values()) > scores[0] + 10
    model = Model.load(run)
    assert model.recipe.transfer.source == "base"
    assert model.languages == ["de", "en"]
    invoke("evaluate", run, "--data", toy, "--split", "val", *cache)
    invoke("export", run, "--onnx", tmp_path / "out", *cache)
    again = tuning_recipe(tmp_path / "out")
    assert again.training.lr == pytest.approx(0.1 * 0.01)
    texts = ["red dog runs", "blauer hund"]
    np.testing.assert_allclose(
        load(tmp_path / "out").encode_text(texts), model.encode_text(texts), atol=1e-5
    )


def test_without_training_a_model_is_the_export(exported: Path, toy: Path, tmp_path: Path) -> None:
    recipe = tuning_recipe(exported, {"data.images": 0, "data.languages": ["fr"]})
    with pytest.raises(PolyglanceError, match="no captions in de, en, fr") as error:
        train_recipe(recipe, load_dataset(str(_renamed(toy, tmp_path))), tmp_path / "none")
    assert "val" in str(error.value)
    recipe = tuning_recipe(exported, {"data.images": 0, "data.languages": ["en"]})
    done = train_recipe(recipe, load_dataset(str(toy)), tmp_path / "run", show_progress=False)
    other = load(exported)
    assert isinstance(other, ExportedModel)
    texts = ["red dog runs", "ein hund", "犬"]
    assert (done.model.encode_text(texts) * other.encode_text(texts)).sum(1).min() > 0.999


def _renamed(toy: Path, folder: Path) -> Path:
    """The toy dataset in a language that nothing knows."""
    rows = [
        CaptionedImage(one.image, one.split, {"xx": one.captions["en"]})
        for one in load_dataset(str(toy)).images
    ]
    save_folder(folder / "renamed", rows)
    (folder / "renamed" / "features").symlink_to(toy / "features")
    return folder / "renamed"


def test_a_run_is_trained_on_with_a_part_held_out(world, trained, tmp_path: Path) -> None:
    source = trained("table")
    rows = [one for one in world[1].images if one.split == "train"]
    save_folder(tmp_path / "mine", rows)
    (tmp_path / "mine" / "features").symlink_to(world[0] / "toy" / "features")
    recipe = tuning_recipe(source, {"training.updates": 5, "data.languages": ["en"]})
    data = load_dataset(str(tmp_path / "mine"))
    done = train_recipe(recipe, data, tmp_path / "run", cache=tmp_path / "cache")
    assert done.progress.evaluations[0]["update"] == 0
    assert done.progress.update == 5
    assert done.model.embedder.count_words("en") == Model.load(source).embedder.count_words("en")
    german = tuning_recipe(source, {"data.languages": ["de"]})
    with pytest.raises(PolyglanceError, match=r"no words of 'de'.*--languages en.*add-language"):
        train_recipe(german, data, tmp_path / "de", cache=tmp_path / "cache")


def test_all_weights_begin_as_the_sources(trained) -> None:
    source = Model.load(trained("table"))
    recipe = tuning_recipe(trained("table"))
    model = tuned_model(recipe, source, ["en"], Path("x"))
    old, new = source.network.state_dict(), model.network.state_dict()
    assert set(old) == set(new)
    assert all(new[name].equal(value) for name, value in old.items())
    assert all(one.requires_grad for one in model.network.parameters())
    assert model.recipe is recipe


def test_a_recipe_or_a_model_is_named(exported: Path, toy: Path, tmp_path: Path) -> None:
    where = ["--data", toy, "--out", tmp_path / "run"]
    for arguments in (["train"], ["train", "nce", "--from", exported]):
        assert "pass a recipe" in refused(*arguments, *where)
    assert "neither model.json (a run) nor manifest.json" in refused("train", "--from", toy, *where)
    assert not (tmp_path / "run").exists()
    with pytest.raises(PolyglanceError, match="set one"):
        load_recipe("vsepp", {"transfer": {"source": "x", "tune": True, "keep": True}})


def test_base_is_taught_a_language_by_pairs_of_texts(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_MODEL", str(exported))
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    where = ["--language", "nl", "--out", tmp_path / "nl"]
    for named in (["base"], ["--from", "base"]):
        assert "needs a lexicon" in refused("add-language", *named, *where)
        message = refused("add-language", *named, *where, "--vectors", tmp_path, "--pairs", "3")
        assert "leave out --vectors, --pairs" in message
    assert "pass one MODEL" in refused("add-language", "base", "--from", "base", *where)
    assert not (tmp_path / "nl").exists()


def test_the_last_lines_say_what_was_not_gained_and_how_to_add_a_cutoff(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    run, cache = tmp_path / "run", ["--cache", tmp_path / "cache"]
    more = ["--set", "training.updates=2", "--set", "training.lr=1e-12"]
    none = tmp_path / "none"
    found = invoke("train", "--from", exported, "--data", toy, "--out", none, *more, *cache)
    assert "nothing was gained" in found
    assert "polyglance export" not in found
    more = ["--set", "training.updates=20", "--set", "training.lr=0.01"]
    found = invoke("train", "--from", exported, "--data", toy, "--out", run, *more, *cache)
    command = found.strip().splitlines()[-1].partition("polyglance ")[2]
    assert "without a cut-off" in found
    made = invoke(*shlex.split(command), *cache)
    assert "calibrated: on 'val'" in made
    assert load(tmp_path / "run-exported").background is not None


def test_a_background_comes_from_what_fine_tuning_held_out(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    rows = [one for one in load_dataset(str(toy)).images if one.split == "train"]
    save_folder(tmp_path / "mine", rows)
    (tmp_path / "mine" / "features").symlink_to(toy / "features")
    run, mine = tmp_path / "run", tmp_path / "mine"
    more = ["--set", "training.updates=2", "--cache", tmp_path / "cache"]
    invoke("train", "--from", exported, "--data", mine, "--out", run, *more)
    out = ["--onnx", tmp_path / "out", "--background", mine]
    assert "calibrated" in invoke("export", run, *out, "--cache", tmp_path / "cache")


def _table(toy: Path, folder: Path, images: int) -> Path:
    """A table without splits of some of the toy's images, with an English caption each."""
    data = load_dataset(str(toy))
    rows = [one for one in data.images if "en" in one.captions][:images]
    lines = [f"{one.image},{next(iter(one.captions['en'].values()))[0]},en" for one in rows]
    folder.mkdir()
    (folder / "my.csv").write_text("\n".join(["path,caption,language", *lines]) + "\n")
    (folder / "features").symlink_to(toy / "features")
    return folder / "my.csv"


def test_a_small_table_is_trained_on_without_its_hashs_splits(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    mine, run, cache = _table(toy, tmp_path / "mine", 60), tmp_path / "run", tmp_path / "cache"
    data = load_dataset(str(mine))
    assert len(data.split("val")) < 8
    recipe = tuning_recipe(exported, {"training.lr": 0.01}, data)
    assert (recipe.training.updates, recipe.training.evaluate_every) == (40, 4)
    where = ["--data", mine, "--out", run, "--cache", cache]
    found = invoke("train", "--from", exported, *where, "--set", "training.lr=0.01")
    assert "nothing was gained" not in found
    command = found.strip().splitlines()[-1].partition("polyglance ")[2]
    assert "calibrated: on 'val'" in invoke(*shlex.split(command), "--cache", cache)
    # Only a fine-tuned model was trained on what the hash puts into "train".
    hashed = ["--background", mine, "--onnx", tmp_path / "other"]
    assert "at least 8 images" in refused("export", _plain_run(tmp_path), *hashed)


def _plain_run(folder: Path) -> Path:
    sentence_model(*FILES).save(folder / "plain")
    return folder / "plain"


def test_the_export_of_few_images_has_no_background(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    mine, cache = _table(toy, tmp_path / "mine", 20), tmp_path / "cache"
    where = ["--data", mine, "--out", tmp_path / "run", "--cache", cache]
    found = invoke("train", "--from", exported, *where, "--set", "training.lr=0.01")
    assert "too few images for a cut-off" in found
    assert "--background" not in found


def test_a_table_without_languages_needs_no_out(
    exported: Path, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, cache = _table(toy, tmp_path / "mine", 60), ["--cache", tmp_path / "cache"]
    mine.write_text(mine.read_text().replace(",language", "").replace(",en\n", "\n"))
    monkeypatch.chdir(tmp_path)
    more = ["--set", "training.lr=0.01", *cache]
    found = invoke("train", "--from", exported, "--data", mine, *more)
    assert Model.load(tmp_path / "runs" / "my").languages == ["de", "en", "und"]
    command = found.strip().splitlines()[-1].partition("polyglance ")[2]
    assert "calibrated: on 'val'" in invoke(*shlex.split(command), *cache)
    assert "pass an output folder" in refused("train", "vsepp", "--data", toy)


def test_log_likelihood_decides_between_equal_recalls(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    recipe = tuning_recipe(exported, {"training.updates": 12, "training.evaluate_every": 4})
    likelihoods = iter([-0.4, -0.3, -0.2995, -0.35])

    class SameRecalls(Callback):
        """Every evaluation has the first one's recalls."""

        def on_start(self, trainer: Trainer) -> None:
            report = trainer.validation.report()
            trainer.validation.assess = lambda: (report, {"en": next(likelihoods)})

    data = load_dataset(str(toy))
    done = train_recipe(recipe, data, tmp_path / "run", callbacks=[SameRecalls()]).progress
    assert [row["log_likelihood"] for row in done.evaluations] == [-0.4, -0.3, -0.2995, -0.35]
    assert len({row["rsum"] for row in done.evaluations}) == 1
    assert done.best_update == 4


def test_an_export_whose_background_fails_leaves_nothing(
    exported: Path, toy: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    more = ["--set", "training.updates=2", "--cache", tmp_path / "cache"]
    invoke("train", "--from", exported, "--data", toy, "--out", run, *more)
    few = [one for one in load_dataset(str(toy)).images if one.split == "val"][:3]
    save_folder(tmp_path / "few", few)
    (tmp_path / "few" / "features").symlink_to(toy / "features")
    out = ["--onnx", tmp_path / "out", "--background", tmp_path / "few"]
    assert "at least 8 images" in refused("export", run, *out)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cache", "few", "run", "toy"]
