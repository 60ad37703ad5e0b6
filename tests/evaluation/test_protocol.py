import json
from dataclasses import replace

import numpy as np
import pytest

from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import compare, evaluate, load_report
from polyglance.evaluation.captions import choose_captions
from polyglance.evaluation.reports.comparison import aggregate
from polyglance.evaluation.reports.report import summarise
from polyglance.evaluation.reports.tables import comparison_rows, report_rows, seeds_rows

from .conftest import FakeModel, make_dataset, make_vectors


def replicate(dataset, times=5):
    photos = [
        replace(
            photo,
            captions={
                language: {kind: [t for t in texts for _ in range(times)]}
                for language, kinds in photo.captions.items()
                for kind, texts in kinds.items()
            },
        )
        for photo in dataset.images
    ]
    return Dataset(photos, dataset.image_folder, dataset.name)


def test_perfect_model():
    dataset = make_dataset(counts={"en": 5, "de": 1})
    report = evaluate(FakeModel(make_vectors(dataset)), dataset, bootstrap=20)
    assert report["en"].metrics.rsum == report["de"].metrics.rsum == 600.0
    assert report["en"].intervals["mr"] == (100.0, 100.0)
    assert report.averages["all"].languages == ("de", "en")


def test_appendix_a_replicated_captions_change_nothing():
    dataset = make_dataset(30, {"en": 5, "fr": 1})
    model = FakeModel(make_vectors(dataset), noise=1.5)
    plain = evaluate(model, dataset, bootstrap=50)
    copied = evaluate(model, replicate(dataset), bootstrap=50)
    for language in ("en", "fr"):
        assert copied[language].metrics == plain[language].metrics
        assert copied[language].intervals == plain[language].intervals
        assert 0 < plain[language].metrics.mr < 100
    assert copied["fr"].duplicates == 4 * 30
    kept = evaluate(model, replicate(dataset), bootstrap=0, keep_duplicates=True)
    recalls = kept["fr"].metrics.image_to_text
    assert recalls.r5 == recalls.r1 == plain["fr"].metrics.image_to_text.r1
    assert plain["fr"].metrics.image_to_text.r5 > recalls.r5


def test_one_caption_language_inside_a_five_caption_evaluation():
    """A language's result does not depend on how many captions the others have."""
    both = make_dataset(30, {"en": 5, "fr": 1})
    alone = make_dataset(30, {"fr": 1})
    model = FakeModel(make_vectors(both), noise=1.5)
    together = evaluate(model, both, bootstrap=0)["fr"]
    assert together.metrics == evaluate(model, alone, bootstrap=0)["fr"].metrics
    assert len(together.outcome.caption_image) == 30


def test_holes_shrink_the_gallery_of_that_language_only():
    dataset = make_dataset(10, {"en": 2, "de": 1})
    for photo in dataset.images[::2]:
        del photo.captions["de"]
    report = evaluate(FakeModel(make_vectors(dataset), noise=0.5), dataset, bootstrap=0)
    assert report["de"].outcome.image.tolist() == [1, 3, 5, 7, 9]
    assert len(report["en"].outcome.image) == 10


def test_unreadable_pictures_are_left_out_and_named(toy):
    dataset, model = toy
    model.images["3.jpg"] = np.full(6, np.nan, np.float32)
    report = evaluate(model, dataset, bootstrap=10)
    assert report.unreadable == ["3.jpg"]
    assert 3 not in report["en"].outcome.image
    assert len(report["en"].outcome.caption_image) == 55
    assert "left out, unreadable: 1 (3.jpg)" in report_rows(report).notes


def test_no_readable_picture(toy):
    dataset, model = toy
    model.images = {name: np.full(6, np.nan) for name in model.images}
    with pytest.raises(PolyglanceError, match="none of the images of split 'test'"):
        evaluate(model, dataset)


def test_kinds_default_and_chosen():
    captions = {
        "en": {"translation": ["0.jpg t"], "independent": ["0.jpg i", "0.jpg j"]},
        "cs": {"machine": ["0.jpg m"], "translation": ["0.jpg c"]},
        "uk": {"machine": ["0.jpg u"]},
    }
    dataset = Dataset([CaptionedImage("0.jpg", "test", captions)], None, "toy")
    chosen = {c.language: c.kinds for c in choose_captions(dataset)}
    assert chosen == {"en": ("independent",), "cs": ("translation",), "uk": ("machine",)}
    report = evaluate(FakeModel(make_vectors(dataset)), dataset, bootstrap=0)
    assert report.averages["human"].languages == ("cs", "en")
    assert report.averages["all"].languages == ("cs", "en", "uk")
    assert [c.language for c in choose_captions(dataset, kinds=["translation"])] == ["cs", "en"]
    with pytest.raises(PolyglanceError, match="'uk' has no captions of kind translation"):
        choose_captions(dataset, ["uk"], ["translation"])
    with pytest.raises(PolyglanceError, match="no captions of kind spoken"):
        choose_captions(dataset, kinds=["spoken"])


def test_an_unknown_language_is_evaluated_and_marked(toy):
    dataset, model = toy
    model.languages = ["en"]
    report = evaluate(model, dataset, bootstrap=0)
    assert not report["de"].known
    assert report["en"].known
    assert model.asked == [None, "en"]
    assert [row[0] for row in report_rows(report).rows][:2] == ["de†", "en"]


def test_bad_requests(toy):
    dataset, model = toy
    with pytest.raises(PolyglanceError, match="no split 'tset'"):
        evaluate(model, dataset, "tset")
    with pytest.raises(PolyglanceError, match="no captions in language 'fr'"):
        evaluate(model, dataset, languages=["fr"])
    with pytest.raises(PolyglanceError, match="cannot make 13 folds"):
        evaluate(model, dataset, folds=13)


def test_vectors_that_are_not_finite_or_do_not_fit(toy):
    dataset, model = toy
    model.encode_text = lambda texts, language=None, **_: np.full((len(texts), 6), np.inf)
    with pytest.raises(PolyglanceError, match="'de': the model returned a vector"):
        evaluate(model, dataset)
    model.encode_text = lambda texts, language=None, **_: np.ones((len(texts), 5))
    with pytest.raises(PolyglanceError, match="dimensions must be equal"):
        evaluate(model, dataset)


def test_similarities(toy):
    dataset, model = toy
    cosine = evaluate(model, dataset, bootstrap=0)
    model.similarity_name = "order"
    order = evaluate(model, dataset, bootstrap=0)
    assert (cosine.similarity, order.similarity) == ("cosine", "order")
    assert cosine["en"].metrics != order["en"].metrics
    model.similarity_name = None
    model.similarity = lambda images, texts: -(images @ texts.T)
    own = evaluate(model, dataset, bootstrap=0)
    assert own.similarity == "own"
    assert own["en"].metrics.mr < cosine["en"].metrics.mr
    model.similarity = "order"
    with pytest.raises(PolyglanceError, match="must be a function of images and texts"):
        evaluate(model, dataset)


def test_report_survives_json_with_ranks(toy, tmp_path):
    dataset, model = toy
    report = evaluate(model, dataset, folds=3, bootstrap=30, seed=5, strict=True)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report.as_dict(ranks=True), allow_nan=False))
    assert load_report(path).as_dict(ranks=True) == report.as_dict(ranks=True)
    path.write_text(json.dumps(report.as_dict()))
    with pytest.raises(PolyglanceError, match="contains no ranks"):
        load_report(path)
    path.write_text('{"languages": {"en": {}}, "photos": []}')
    with pytest.raises(PolyglanceError, match="damaged report"):
        load_report(path)


def test_compare_distinguishes_better_from_equal(toy):
    dataset, model = toy
    first = evaluate(model, dataset, bootstrap=0, name="a")
    same = replace(first, model="b")
    worse = FakeModel(model.images, noise=20.0)
    third = evaluate(worse, dataset, bootstrap=0, name="c")
    comparison = compare([first, same, third], rounds=300)
    assert comparison.differences["b"]["all"]["mr"].p == 1.0
    test = comparison.differences["c"]["all"]["mr"]
    assert test.p < 0.01
    assert test.difference == pytest.approx(
        third.averages["all"].metrics.mr - first.averages["all"].metrics.mr
    )
    rows = comparison_rows([first, same, third], comparison)
    assert [row[0] for row in rows.rows] == ["de", "en", "all"]
    assert "**" in rows.rows[-1][6]
    assert "*" not in rows.rows[-1][3]


def test_compare_refuses_other_queries(toy):
    dataset, model = toy
    first = evaluate(model, dataset, bootstrap=0, name="a")
    model.images["3.jpg"] = np.full(6, np.nan, np.float32)
    second = evaluate(model, dataset, bootstrap=0, name="b")
    with pytest.raises(PolyglanceError, match="not evaluated on the same"):
        compare([first, second])
    with pytest.raises(PolyglanceError, match="with different names"):
        compare([first, first])


def test_aggregate_by_hand(toy):
    dataset, model = toy
    runs = [
        evaluate(FakeModel(model.images, noise=2.0, seed=s), dataset, bootstrap=0, name=str(s))
        for s in range(3)
    ]
    values = [run["de"].metrics.mr for run in runs]
    spread = aggregate(runs)["de"]["mr"]
    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.sd == pytest.approx(np.std(values, ddof=1))
    assert spread.sd > 0
    table = seeds_rows(runs, aggregate(runs)).markdown()
    assert f"| {spread.mean:.1f} ± {spread.sd:.1f} |" in table
    with pytest.raises(PolyglanceError, match="at least two runs"):
        aggregate(runs[:1])


def test_markdown_has_one_cell_per_column(toy):
    dataset, model = toy
    lines = report_rows(evaluate(model, dataset, bootstrap=10)).markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 2 + 1
    assert len({line.count("|") for line in table}) == 1


def test_people_s_captions_have_a_row_where_a_machine_wrote_others(toy):
    dataset, model = toy
    report = evaluate(model, dataset, bootstrap=0)
    assert report.averages["human"].languages == report.averages["all"].languages
    assert "human" not in report_rows(report).markdown()
    machine = [replace(one, kinds=("machine",)) for one in report.results[:1]]
    mixed = summarise(replace(report, results=[*machine, *report.results[1:]]))
    table = report_rows(mixed)
    assert [row[0] for row in table.rows] == ["de", "en", "human", "all"]
    assert table.notes[0].startswith("human: languages with captions by people")


@pytest.mark.parametrize(("count", "told"), [(12, True), (60, False)])
def test_a_small_gallery_is_reported(count, told):
    dataset = make_dataset(count)
    report = evaluate(FakeModel(make_vectors(dataset)), dataset, "test", bootstrap=0)
    assert ("recall is high by chance" in report_rows(report).markdown()) is told


def test_same_text_takes_every_photograph_of_a_text_for_right():
    photos = [
        CaptionedImage(f"{i}.jpg", "test", {"en": {"independent": [text]}})
        for i, text in enumerate(["0.jpg dog", "0.jpg dog", "2.jpg cat"])
    ]
    dataset = Dataset(photos, make_dataset().image_folder, "clips")
    model = FakeModel({f"{i}.jpg": np.eye(3)[i].astype(np.float32) for i in range(3)})
    plain = evaluate(model, dataset, bootstrap=10)["en"].metrics
    merged = evaluate(model, dataset, bootstrap=10, same_text=True)["en"].metrics
    assert plain.text_to_image.r1 == pytest.approx(200 / 3)
    assert merged.text_to_image.r1 == 100.0
    with pytest.raises(PolyglanceError, match="`same_text` cannot be combined with `folds`"):
        evaluate(model, dataset, same_text=True, strict=True)
