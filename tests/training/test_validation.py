"""Validation while training: the recalls of the evaluation, whatever the captions are."""

from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.evaluation import captions, evaluate
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import DataRecipe
from polyglance.text.embedders import TableEmbedder, Vocabulary
from polyglance.training.validation import Validation, validation_kinds
from tests.conftest import TOY, WORDS
from tests.training.runs import run

BATCH = 4


def repeat_first_captions(toy: Path) -> None:
    """Give every BATCH-th validation caption in English the same text, on different images."""
    rows = load_folder(toy).images
    for index, row in enumerate(row for row in rows if row.split == "val"):
        own = row.captions["en"]["independent"][0]
        row.captions["en"]["independent"][:] = ["a dog" if index % BATCH == 0 else own]
    save_folder(toy, rows)


def test_batches_that_begin_alike_are_not_confused(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captions, "TEXTS_AT_A_TIME", BATCH)
    repeat_first_captions(toy)
    dataset = load_dataset(toy)
    texts = dataset.split("val").captions(["en"], ["independent"]).texts
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    assert len({tuple(batch) for batch in batches}) > len({batch[0] for batch in batches}) == 1
    torch.manual_seed(0)
    words = [word for groups in WORDS.values() for group in groups for word in group]
    recipe = load_recipe("vsepp", parse_overrides(TOY))
    embedder = TableEmbedder(recipe, {"": Vocabulary([*words, "a"])})
    model = Model(recipe, embedder, 16, ["de", "en"])
    kept = Validation(model, dataset, "val", None)
    expected = evaluate(model, dataset, "val", bootstrap=0, show_progress=False)
    # Of two reports, the second reads nothing but kept tokens.
    for found in (kept.report(), kept.report()):
        assert [result.language for result in found.results] == ["de", "en"]
        for ours, theirs in zip(found.results, expected.results, strict=True):
            mine, other = ours.outcome.ranks, theirs.outcome.ranks
            np.testing.assert_array_equal(mine.text_to_image, other.text_to_image)
            np.testing.assert_array_equal(mine.image_to_text, other.image_to_text)
            assert ours.metrics == theirs.metrics


def test_validation_without_images_is_refused_before_training(toy: Path, tmp_path: Path) -> None:
    rows = load_folder(toy).images
    unseen = [r if r.split != "val" else type(r)(f"x{r.image}", "val", r.captions) for r in rows]
    save_folder(toy, unseen)
    with pytest.raises(PolyglanceError, match="none of the images of split 'val' can be read"):
        run(toy, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_language_without_validation_images_is_not_evaluated(toy: Path, tmp_path: Path) -> None:
    rows = load_folder(toy).images
    for row in rows:
        if row.split == "val":
            row.captions["de"]["independent"].clear()
    save_folder(toy, rows)
    result = run(toy, tmp_path / "run", "training.updates=2")
    assert list(result.progress.evaluations[-1]["mr"]) == ["en"]


KINDS = [
    ({}, {}),
    ({"kinds": ["independent"]}, {"de": ("independent",), "en": ("independent",)}),
    ({"kinds": ["translation"]}, {"de": ("translation",), "en": ("translation",)}),
    ({"kinds": {"de": ["translation"]}}, {"de": ("translation",)}),
    ({"kinds": ["machine"]}, {}),
    ({"kinds": ["translation"], "validation_kinds": "best"}, {}),
    (
        {"kinds": ["translation"], "validation_kinds": {"en": ["independent", "translation"]}},
        {"en": ("independent", "translation")},
    ),
]


@pytest.mark.parametrize(("fields", "expected"), KINDS)
def test_early_stopping_takes_the_kinds_trained_on(
    toy: Path, fields: dict[str, object], expected: dict[str, tuple[str, ...]]
) -> None:
    part = load_dataset(translated(toy)).split("val")
    assert validation_kinds(DataRecipe.model_validate(fields), part, ["de", "en"]) == expected


def test_a_training_on_translations_is_stopped_by_translations(toy: Path, tmp_path: Path) -> None:
    data = translated(toy)
    result = run(data, tmp_path / "run", "data.kinds=[translation]", "training.updates=6")
    kinds = {"translation": {}, "independent": {}}
    for kind in kinds:
        report = evaluate(
            result.model, load_dataset(data), "val", kinds=[kind], bootstrap=0, cache=toy.parent
        )
        kinds[kind] = {one.language: round(one.metrics.mr, 3) for one in report.results}
    last = result.progress.evaluations[-1]
    assert result.progress.best_update == last["update"]
    assert last["mr"] == kinds["translation"] != kinds["independent"]


def test_kinds_that_validation_lacks_are_an_error(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"data\.validation_kinds: .*machine in 'de'"):
        run(translated(toy), tmp_path / "run", "data.validation_kinds=[machine]")


def translated(toy: Path) -> Path:
    """The toy dataset with a `translation` beside the captions: the first word of the first."""
    rows = load_folder(toy).images
    for row in rows:
        for kinds in row.captions.values():
            kinds["translation"] = [" ".join(kinds["independent"][0].split()[:1])]
    save_folder(toy, rows)
    return toy
