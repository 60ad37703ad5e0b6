"""The study of trained image networks: which rows have the network in the tower, and how."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.studies import load_study, make_plan
from tests.training.test_end_to_end import coloured  # noqa: F401  (a fixture)

TRAINED = {"stored": None, "frozen": "none", "last": "last", "all": "all"}


@pytest.mark.parametrize(
    ("profile", "size", "seeds"), [("quick", 64, 1), ("standard", 160, 3), ("paper", 512, 3)]
)
def test_rows_differ_in_what_is_trained(profile: str, size: int, seeds: int) -> None:
    plan = make_plan(load_study("end-to-end"), profile)
    assert len(plan.runs) == 16 * seeds
    for run in plan.runs.values():
        kind, trained, *languages = next(iter(run.rows)).split("-")
        assert run.recipe is not None
        image = run.recipe.image
        assert (image.backbone and image.backbone.train) == TRAINED[trained]
        assert image.pooling == ("gpo" if kind == "gpo" else "mean")
        assert run.recipe.data.languages == (None if languages else ["en"])
        if image.backbone is not None and languages and profile == "standard":
            assert image.backbone.frozen_epochs == 0  # an epoch is more than half of the training
        if image.backbone is not None and kind != "nce":
            assert (image.backbone.input_size, image.backbone.squash) == (size, True)


def test_claims_about_all_languages_compare_their_mean() -> None:
    study = load_study("end-to-end")
    ten = [one for one in study.claims if any(">" in c and "-10" in c for c in one.compare)]
    assert any("all" in (one.columns or ()) for one in ten)


def test_rows_can_be_run(coloured: Path, tmp_path: Path) -> None:  # noqa: F811
    where = ["--runs", tmp_path / "runs", "--cache", tmp_path / "cache", "--out", tmp_path / "out"]
    rows = ["--rows", "gpo-all", "--profile", "quick", "--seeds", "1"]
    command = ["study", "end-to-end", "--data", coloured, *where, *rows]
    result = CliRunner().invoke(app, [str(part) for part in command])
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "cache" / "features").exists()
