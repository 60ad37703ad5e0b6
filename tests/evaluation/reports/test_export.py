import json
import os
import subprocess
import sys

import numpy as np
import pytest

from polyglance.data.dataset import CaptionedImage
from polyglance.evaluation import evaluate
from polyglance.evaluation.reports.export import top, write_clip_benchmark, write_trec
from polyglance.numerics.similarity import dot


@pytest.fixture
def exported(toy, tmp_path):
    dataset, model = toy
    model.noise = 1.5
    report = evaluate(
        model,
        dataset,
        bootstrap=0,
        name="my run",
        on_language=lambda encoded: write_trec(tmp_path, encoded, dataset, "my run"),
    )
    return tmp_path, report


def read_run(path):
    run = {}
    for line in path.read_text().splitlines():
        query, zero, item, rank, score, tag = line.split()
        assert (zero, tag) == ("Q0", "my%20run")
        run.setdefault(query, []).append((int(rank), item, float(score)))
    return run


def read_qrels(path):
    qrels = {}
    for line in path.read_text().splitlines():
        query, zero, item, relevance = line.split()
        assert (zero, relevance) == ("0", "1")
        qrels.setdefault(query, set()).add(item)
    return qrels


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("side", ["i2t", "t2i"])
def test_trec_files_parse_back_to_the_recalls(exported, language, side):
    folder, report = exported
    run = read_run(folder / f"{language}.{side}.run")
    qrels = read_qrels(folder / f"{language}.{side}.qrels")
    assert run.keys() == qrels.keys()
    metrics = report[language].metrics
    recalls = (metrics.image_to_text if side == "i2t" else metrics.text_to_image).recalls
    for k, expected in zip((1, 5, 10), recalls, strict=True):
        hits = [
            any(item in qrels[query] and rank <= k for rank, item, _ in items)
            for query, items in run.items()
        ]
        assert 100 * np.mean(hits) == pytest.approx(expected)
    for items in run.values():
        assert [rank for rank, _, _ in items] == list(range(1, len(items) + 1))
        values = [score for _, _, score in items]
        assert values == sorted(values, reverse=True)


RANX = """
import json, ranx, sys
rates = {}
for side in ("i2t", "t2i"):
    qrels = ranx.Qrels.from_file(f"{sys.argv[1]}/en.{side}.qrels", kind="trec")
    run = ranx.Run.from_file(f"{sys.argv[1]}/en.{side}.run", kind="trec")
    found = ranx.evaluate(qrels, run, ["hit_rate@1", "hit_rate@5", "hit_rate@10"])
    rates[side] = [100 * float(value) for value in found.values()]
print(json.dumps(rates))
"""


def test_ranx_agrees_on_the_hit_rate(exported):
    """In a process of its own without numba's compiler, which takes a minute or two."""
    pytest.importorskip("numba")
    folder, report = exported
    command = [sys.executable, "-c", RANX, str(folder)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rates = json.loads(done.stdout.splitlines()[-1])
    metrics = report["en"].metrics
    assert rates["i2t"] == pytest.approx(metrics.image_to_text.recalls)
    assert rates["t2i"] == pytest.approx(metrics.text_to_image.recalls)
    assert 0 < metrics.text_to_image.r1 < 100


def test_names_with_spaces_stay_one_column(toy, tmp_path):
    dataset, model = toy
    photo = dataset.images[0]
    dataset.images[0] = CaptionedImage("a b%.jpg", "test", photo.captions)
    model.images["a b%.jpg"] = model.images["0.jpg"]
    evaluate(
        model,
        dataset,
        bootstrap=0,
        on_language=lambda encoded: write_trec(tmp_path, encoded, dataset, "my run"),
    )
    assert "a%20b%25.jpg" in read_run(tmp_path / "en.i2t.run")
    assert read_qrels(tmp_path / "de.t2i.qrels")["a%20b%25.jpg#0"] == {"a%20b%25.jpg"}


def test_top_breaks_ties_by_index_even_at_the_cut():
    items = np.array([[1.0], [2.0], [1.0], [1.0]])
    ((indices, values),) = top(np.array([[1.0]]), items, dot, depth=3)
    assert indices.tolist() == [1, 0, 2]
    assert values.tolist() == [2.0, 1.0, 1.0]


def test_clip_benchmark_keys_and_directions(exported):
    folder, report = exported
    paths = write_clip_benchmark(folder / "clip", report, "runs/my run")
    assert [path.name for path in paths] == ["toy_my-run_de.json", "toy_my-run_en.json"]
    value = json.loads(paths[1].read_text())
    metrics = report["en"].metrics
    expected = {}
    for i, k in enumerate((1, 5, 10)):
        expected[f"image_retrieval_recall@{k}"] = metrics.text_to_image.recalls[i] / 100
        expected[f"text_retrieval_recall@{k}"] = metrics.image_to_text.recalls[i] / 100
    assert value["metrics"] == pytest.approx(expected)
    assert {key: value[key] for key in value if key != "metrics"} == {
        "dataset": "toy",
        "model": "my run",
        "pretrained": "runs/my run",
        "task": "zeroshot_retrieval",
        "language": "en",
    }
