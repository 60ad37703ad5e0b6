"""Exported models are evaluated like the runs that they were made of."""

from pathlib import Path

import pytest

import polyglance
from polyglance.evaluation import evaluate_models
from polyglance.gallery import search
from tests.runtime.trained import exported, trained


def test_an_export_has_the_recalls_of_its_run(tmp_path: Path) -> None:
    model, data = trained(tmp_path, "nce")
    exported(tmp_path, model)
    both = evaluate_models(
        [tmp_path / "run", tmp_path / "out"], data, bootstrap=2, show_progress=False
    )
    first, second = (report["de"].metrics for report in both.reports)
    assert second == first
    found = [search(polyglance.load(tmp_path / name), data, "red dog") for name in ("run", "out")]
    assert [hit.path for hit in found[1][0].hits] == [hit.path for hit in found[0][0].hits]
    assert [hit.score for hit in found[1][0].hits] == pytest.approx(
        [hit.score for hit in found[0][0].hits], abs=1e-5
    )
