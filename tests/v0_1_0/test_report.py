"""A report of version 0.1.0 still loads, and its model is evaluated to the same report.

`report.json` was written by version 0.1.0 (commit e8c5095), with ranks, of `models/nce` on the
split test of `data/global`: bootstrap 20, strict recalls, captions with typos:0.2.
"""

import json
from pathlib import Path

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.evaluation import EvaluateOptions, compare, evaluate, load_report

HERE = Path(__file__).parent
OPTIONS = EvaluateOptions(bootstrap=20, strict=True, perturb="typos:0.2")


def without_ties(value: dict) -> dict:
    """The sentence about ties has another word for images now."""
    return {key: part for key, part in value.items() if key != "ties"}


def test_a_report_loads_and_is_written_as_it_was() -> None:
    report = load_report(HERE / "report.json")
    stored = json.loads((HERE / "report.json").read_text())
    assert without_ties(json.loads(json.dumps(report.as_dict(ranks=True)))) == without_ties(stored)
    assert len(report.images) == 12
    assert report["de"].duplicates == stored["languages"]["de"]["copies_left_out"] == 12


def test_its_model_is_evaluated_to_the_same(tmp_path: Path) -> None:
    model, dataset = Model.load(HERE / "models" / "nce"), load_dataset(HERE / "data" / "global")
    report = evaluate(model, dataset, "test", OPTIONS, name="again", cache=tmp_path)
    stored = load_report(HERE / "report.json")
    assert report["de"].as_dict(ranks=True) == stored["de"].as_dict(ranks=True)
    # Typos made English captions alike: which is first for an image, rounding decides.
    ours, theirs = report["en"].as_dict(ranks=True), stored["en"].as_dict(ranks=True)
    assert ours["text_to_image"] == theirs["text_to_image"]
    assert ours["ranks"]["text_to_image"] == theirs["ranks"]["text_to_image"]
    test = compare([stored, report], rounds=20).differences["again"]["de"]["mr"]
    assert (test.difference, test.p) == (0.0, 1.0)
