"""Models whose codes are sets of vectors are ranked and exported like any other."""

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.evaluation.ranking.metrics import rank_folds
from polyglance.evaluation.ranking.ranks import rank_both
from polyglance.evaluation.ranking.strict import rank_own_captions
from polyglance.evaluation.reports.export import write_trec
from polyglance.numerics.sets import VectorSets

from ..conftest import make_dataset
from .test_ranks import brute_force


def random_sets(count, seed, dim=4):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 5, count)
    # Whole numbers, whose sums float32 holds exactly.
    return VectorSets.from_lengths(generator.integers(-3, 4, (lengths.sum(), dim)), lengths)


def total(images, captions):
    """The sum of all products between two sets."""
    sums = [
        np.array([one.flat.sum(0) for one in (side[i : i + 1] for i in range(len(side)))])
        for side in (images, captions)
    ]
    return sums[0] @ sums[1].T


class SetModel:
    """Random sets, compared by `total`; the photograph `broken` cannot be read."""

    similarity_name = "total"

    def __init__(self, broken=None):
        self.broken = broken
        self.similarity = total

    def encode_dataset(self, dataset, cache=None, show_progress=None):
        found = random_sets(len(dataset), 1)
        kept = np.array([photo.image != self.broken for photo in dataset.images])
        flat = found.flat[np.repeat(kept, found.lengths)]
        return VectorSets.from_lengths(flat, np.where(kept, found.lengths, 0))

    def encode_text(self, texts, language=None, *, show_progress=None):
        return VectorSets.concatenate([random_sets(1, sum(map(ord, text))) for text in texts])


@pytest.mark.parametrize("chunk", [(2, 3), (1, 50), None])
def test_ranks_of_sets_equal_brute_force(chunk):
    images, captions = random_sets(7, 0), random_sets(20, 1)
    owner = np.concatenate([np.arange(7), np.random.default_rng(2).integers(7, size=13)])
    ranks = rank_both(images, captions, owner, total, chunk)
    expected = brute_force(total(images, captions).tolist(), owner.tolist())
    assert ranks.image_to_text.tolist() == expected[0]
    assert ranks.text_to_image.tolist() == expected[1]
    assert rank_own_captions(images, captions, owner, total).tolist() == expected[2]
    folded = rank_folds(images, captions, np.sort(owner), 2, total)
    assert folded.text_to_image.max() < 4


def test_evaluation_of_sets(tmp_path):
    dataset, found = make_dataset(12, {"en": 2, "de": 1}), []
    report = evaluate(
        SetModel("3.jpg"), dataset, strict=True, bootstrap=5, on_language=found.append
    )
    assert report.similarity == "total"
    assert report.unreadable == ["3.jpg"]
    encoded = found[1]
    scores = total(encoded.images, encoded.captions)
    expected = brute_force(scores.tolist(), encoded.caption_image.tolist())
    assert report["en"].outcome.ranks.text_to_image.tolist() == expected[1]
    assert report["en"].outcome.ranks.image_to_text.tolist() == expected[0]
    write_trec(tmp_path, encoded, dataset.split("test"), "sets")
    first = (tmp_path / "en.t2i.run").read_text().splitlines()[0].split()
    assert float(first[4]) == scores[:, 0].max()


def test_photographs_left_out_for_another_model():
    dataset = make_dataset(6)
    readable = np.array([True] * 5 + [False])
    report = evaluate(SetModel("3.jpg"), dataset, bootstrap=0, readable=readable)
    assert report.unreadable == ["3.jpg", "5.jpg"]


def test_sets_that_do_not_fit():
    dataset, model = make_dataset(4), SetModel()
    model.encode_text = lambda texts, language=None, **_: random_sets(len(texts), 0, dim=5)
    with pytest.raises(PolyglanceError, match="dimensions must be equal"):
        evaluate(model, dataset)
    model.encode_text = lambda texts, language=None, **_: np.ones((len(texts), 4))
    with pytest.raises(PolyglanceError, match="dimensions must be equal"):
        evaluate(model, dataset)
    model.encode_dataset = lambda dataset, **_: random_sets(3, 0)
    with pytest.raises(PolyglanceError, match="for 4 images"):
        evaluate(model, dataset)
