"""What is timed gives the right pictures; which methods are timed, and the names of times."""

import pytest
import torch

from polyglance.studies.experiments import retrieval_time
from polyglance.studies.experiments.retrieval_time import (
    TimeSettings,
    matching,
    measures,
    methods,
    prepare,
    random_sets,
    run,
    score_gallery,
)

SMALL = {"dim": 8, "vectors": 3, "words": 2, "queries": 4, "rounds": 2}


@pytest.mark.parametrize("name", ["scan-t2i", "imram"])
def test_a_gallery_is_scored_in_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    words, images, model = random_sets(4, 2, 8), random_sets(7, 3, 8), matching(name, 8)
    with torch.inference_mode():
        whole = model(words, images)
        monkeypatch.setattr(retrieval_time, "CELLS", 2 * 4 * model.floats_per_pair(words, images))
        found = score_gallery(model, words, images, 17)
    assert found.shape == (17, 4)
    assert torch.allclose(found, torch.cat([whole, whole, whole[:3]]), atol=1e-5)


def test_vse_finds_the_nearest_points() -> None:
    torch.manual_seed(3)
    found = prepare(TimeSettings(gallery=30, limits={"scan-t2i": 0, "imram": 0}, **SMALL))
    torch.manual_seed(3)
    points = torch.nn.functional.normalize(torch.randn(30, 8), dim=1)
    texts = torch.nn.functional.normalize(torch.randn(4, 8), dim=1)
    assert list(found) == ["vse"]
    order = (texts @ points.t()).argsort(dim=1, descending=True)
    assert torch.equal(found["vse"](), order[:, :10])


def test_slow_methods_stop_at_their_limits() -> None:
    limits = {"scan-t2i": 100, "imram": 50}
    assert methods(TimeSettings(gallery=50, limits=limits)) == ["vse", "scan-t2i", "imram"]
    assert methods(TimeSettings(gallery=60, limits=limits)) == ["vse", "scan-t2i"]
    settings = TimeSettings(gallery=101, limits=limits)
    assert measures(settings) == ["vse ms", "vse ratio"]


def test_times_and_ratios_are_medians_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([1.0, 4.0, 8.0, 3.0, 6.0, 30.0])
    monkeypatch.setattr(retrieval_time, "timed", lambda call: next(seconds))
    settings = TimeSettings(gallery=20, **SMALL)
    found = run(settings).values
    assert list(found) == measures(settings)
    assert found["vse ms"] == 1000 * 2 / 4
    assert found["scan-t2i ms"] == 1000 * 5 / 4
    assert (found["vse ratio"], found["scan-t2i ratio"], found["imram ratio"]) == (1, 3, 9)
