"""The tables of VSE∞: regions, grids, BERT, ensembles and COCO's folds, on made-up features."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import load_dataset
from polyglance.evaluation import Ensemble, evaluate, load_report
from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.studies import load_study, make_plan
from polyglance.studies.plan import DataFacts
from polyglance.studies.running.store import RunFolder
from polyglance.vision.extraction.store import FeatureStore
from tests.conftest import write_toy

STUDIES = ["gpo-coco", "gpo-flickr30k"]


def add_features(data: Path, name: str, count: int) -> None:
    """Made-up vectors of the toy's images, `count` for each."""
    made = FeatureStore.open(data / "features" / "toy")
    keys = [entry.image for entry in load_dataset(data).images]
    start, _ = made.rows(keys)
    generator = np.random.default_rng(count)
    values = [made.vectors[at] + 0.1 * generator.normal(size=(count, 16)) for at in start]
    form = "set" if count > 1 else "global"
    with FeatureStore.create(data / "features" / name, 16, form, f"imported/{name}") as store:
        store.append_many(zip(keys, values, strict=True))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_toy(tmp_path_factory.mktemp("tables") / "toy")
    for name, count in {"butd": 4, "butd-grid": 9}.items():
        add_features(folder, name, count)
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_a_row_has_the_features_of_the_paper(name: str) -> None:
    study = load_study(name)
    plan = make_plan(study, "paper", seeds=1)
    by_row = {run.labels[0].partition(",")[0]: run.recipe for run in plan.runs.values()}
    assert by_row["region"].image.feature == "imported/butd"
    assert by_row["region"].image.head.kind == "residual-mlp"
    assert by_row["region"].augment.vector_drop == 0.2
    assert not by_row["region"].augment.varying
    assert by_row["region"].training.schedule.every == 15
    assert by_row["grid"].image.head.kind == by_row["bert-grid"].image.head.kind == "linear"
    assert by_row["bert-grid"].augment.varying
    assert by_row["bert-region"].training.multipliers == {"text.encoder": 0.1}
    assert by_row["wsl-vsepp"].image.pooling == by_row["region-vsepp"].text.pooling == "mean"
    assert by_row["scan-t2i"].training.epochs == (20 if name == "gpo-coco" else 30)


def test_coco_has_five_folds_and_all_images() -> None:
    columns = {column.title: column for column in load_study("gpo-coco").columns}
    assert columns["1K RSUM"].folds == 5
    assert columns["5K RSUM"].folds == 1
    row = load_study("gpo-coco").row("wsl-two")
    assert (row.paper[6], row.paper[13]) == (548.1, 474.8)
    # Sums of a row's recalls are its RSUM, up to the rounding of six figures.
    for name in STUDIES:
        for row in load_study(name).all_rows:
            for start in range(0, len(row.paper), 7):
                six, rsum = row.paper[start : start + 6], row.paper[start + 6]
                assert rsum is None or sum(six) == pytest.approx(rsum, abs=0.35), row.name


def paper_recipes(name: str) -> dict[str, Recipe]:
    plan = make_plan(load_study(name), "paper", seeds=1)
    return {row: recipes[0][1] for row, recipes in plan.recipes.items()}


def test_comparators_have_their_authors_settings_for_coco() -> None:
    found = paper_recipes("gpo-comparators")
    for row in ("scan-t2i", "scan-i2t"):
        training = found[row].training
        assert (training.lr, training.epochs, training.schedule.every) == (5e-4, 20, 10)
    assert found["scan-i2t"].joint.similarity.lse == 20
    assert found["scan-t2i"].joint.similarity.lse == 6
    assert found["imram"].training.lr == 2e-4
    for row in ("cvse", "vsrn", "scan-t2i", "imram"):
        assert found[row].image.head.kind == "linear"
        assert not found[row].training.drop_last
    assert found["vse-infinity"].image.head.kind == "residual-mlp"


def test_rows_have_the_features_that_their_figures_are_of() -> None:
    sequence, variants = paper_recipes("gpo-sequence-model"), paper_recipes("gpo-variants")
    for row in ("bigru", "transformer"):
        grid, region = sequence[row], sequence[f"region-{row}"]
        assert (grid.image.feature, grid.image.head.kind) == ("imported/butd-grid", "linear")
        assert grid.augment.varying
        assert (region.image.feature, region.image.head.kind) == ("imported/butd", "residual-mlp")
        assert not region.augment.varying
    for row in ("gpo", "per-dimension", "features"):
        bert = variants[f"bert-{row}"]
        assert bert.text.encoder.kind == "transformer"
        assert bert.image.pooling == variants[row].image.pooling
        assert bert.image.feature == "imported/butd"


def test_missing_parts_are_named(data: Path, tmp_path: Path) -> None:
    facts = DataFacts.of(load_dataset(data), "test")
    plan = make_plan(load_study("gpo-coco"), "quick", facts)
    assert "no features imported/wsl-grid" in plan.unavailable["wsl"]
    assert "text.encoder.pretrained=FOLDER" in plan.unavailable["bert-region"]
    assert "'wsl', which it averages" in plan.unavailable["wsl-two"]
    assert {"region", "grid", "region-grid", "scan", "vsrn-two"}.isdisjoint(plan.unavailable)
    words = ["study", "gpo-coco", "--data", str(data), "--profile", "quick", "--plan"]
    result = CliRunner().invoke(app, [*words, "--runs", str(tmp_path)])
    assert "missing\tresnet-infinity\tthe data has no features" in result.stdout


def test_an_ensemble_of_a_row_with_itself_pairs_its_seeds(data: Path) -> None:
    facts = DataFacts.of(load_dataset(data), "test")
    plan = make_plan(load_study("gpo-coco"), "quick", facts, seeds=3)
    line = {line.row.name: line for line in plan.lines}
    runs = [source["en"] for source in line["vsrn"].sources]
    pairs = [plan.runs[source["en"]].members for source in line["vsrn-two"].sources]
    assert pairs == [(runs[0], runs[1]), (runs[1], runs[2]), (runs[2], runs[0])]
    assert [line.row.name for line in plan.lines] == [r.name for r in plan.study.all_rows]
    single = make_plan(load_study("gpo-coco"), "quick", facts, seeds=1)
    assert "needs 2 seeds" in single.unavailable["vsrn-two"]


def test_rows_train_and_are_averaged(data: Path, tmp_path: Path) -> None:
    words = ["study", "gpo-coco", "--data", str(data), "--profile", "quick", "--seeds", "1"]
    words += ["--rows", "region,grid,bert-region,region-grid", "--runs", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "not run: bert-region" in result.output
    numbers = json.loads((tmp_path / "out" / "gpo-coco.json").read_text(encoding="utf-8"))
    keys = {run["labels"][0]: key for key, run in numbers["runs"].items()}
    folders = [RunFolder(tmp_path / "runs" / keys[f"{row}, seed 0"]) for row in ("region", "grid")]
    models = [Model.load(folder.model) for folder in folders]
    dataset = load_dataset(data)
    both = Ensemble(models)
    cells = {row["row"]: row["cells"] for row in numbers["rows"]}
    for folds, column in ((5, "1K RSUM"), (1, "5K RSUM")):
        options = {"languages": ["en"], "folds": folds, "bootstrap": 0}
        expected = evaluate(both, dataset, "test", **options)["en"].metrics.rsum
        assert cells["region-grid"][column]["mean"] == pytest.approx(expected)
        alone = evaluate(models[0], dataset, "test", **options)["en"].metrics.rsum
        assert cells["region"][column]["mean"] == pytest.approx(alone)
    assert cells["region"]["1K RSUM"]["chance"] > cells["region"]["5K RSUM"]["chance"]
    stored = RunFolder(tmp_path / "runs" / keys["region-grid, seed 0"])
    assert json.loads((stored.path / "run.json").read_text())["members"] == [
        folder.path.name for folder in folders
    ]
    reports = [load_report(path) for path in stored.path.glob("results/*.json")]
    assert sorted(report.folds for report in reports) == [1, 5]
    ended = [folder.outcome() for folder in (*folders, stored)]
    assert ended[2].parameters == ended[0].parameters + ended[1].parameters


def test_bert_trains_with_regions(data: Path, bert: Path, tmp_path: Path) -> None:
    words = ["study", "gpo-flickr30k", "--data", str(data), "--profile", "quick", "--seeds", "1"]
    words += ["--rows", "bert-region", "--set", f"text.encoder.pretrained={bert}"]
    words += ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / "gpo-flickr30k.json").read_text(encoding="utf-8"))
    cells = {row["row"]: row["cells"] for row in numbers["rows"]}
    assert cells["bert-region"]["RSUM"]["mean"] > 0


@pytest.mark.parametrize("name", ["gpo-msrvtt", "gpo-vatex"])
def test_clips_are_trained_and_equal_captions_are_one(
    name: str, data: Path, tmp_path: Path
) -> None:
    """The toy's test images share captions, which is where HGR's way of counting differs."""
    if not (data / "features" / "frames").exists():
        add_features(data, "frames", 5)
    words = ["study", name, "--data", str(data), "--profile", "quick", "--seeds", "1"]
    words += ["--rows", "vse-infinity", "--runs", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / f"{name}.json").read_text(encoding="utf-8"))
    cells = {row["row"]: row["cells"] for row in numbers["rows"]}
    keys = {run["labels"][0]: key for key, run in numbers["runs"].items()}
    model = Model.load(RunFolder(tmp_path / "runs" / keys["vse-infinity, seed 0"]).model)
    found = [
        evaluate(model, load_dataset(data), "test", languages=["en"], bootstrap=0, same_text=same)
        for same in (True, False)
    ]
    assert cells["vse-infinity"]["RSUM"]["mean"] == pytest.approx(found[0]["en"].metrics.rsum)
    assert found[0]["en"].metrics.rsum != found[1]["en"].metrics.rsum


@pytest.mark.parametrize("name", ["hgr-msrvtt", "hgr-vatex"])
def test_hgr_is_trained_on_clips_with_roles(name: str, data: Path, tmp_path: Path) -> None:
    if not (data / "features" / "frames").exists():
        add_features(data, "frames", 5)
    nodes = {"0": {"role": "ROOT", "spans": [0]}, "1": {"role": "ARG0", "spans": [0]}}
    texts = load_dataset(data).captions(["en"]).texts
    roles = tmp_path / "roles.json"
    roles.write_text(json.dumps({text: [nodes, []] for text in texts}))
    words = ["study", name, "--data", str(data), "--profile", "quick", "--seeds", "1"]
    words += ["--set", f"text.embedder.graphs={roles}", "--runs", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / f"{name}.json").read_text(encoding="utf-8"))
    cells = {row["row"]: row["cells"]["RSUM"]["mean"] for row in numbers["rows"]}
    assert set(cells) == {"hgr", "hgr-gpo"}
    assert min(cells.values()) > 0


def test_a_long_legend_leaves_room_for_the_bars() -> None:
    from matplotlib.figure import Figure

    from polyglance.studies.report.drawing import add_legend, to_svg

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    for number in range(25):
        axes.bar(number, 1, label=f"row number {number} of a long table of many systems")
    add_legend(figure, axes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_svg(figure)
    assert axes.get_position().height * figure.get_figheight() > 1.5
