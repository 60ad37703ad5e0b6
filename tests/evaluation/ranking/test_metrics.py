import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.metrics import (
    Outcome,
    chance,
    direction,
    fold_metrics,
    fold_slices,
    mean,
    metrics,
    rank_folds,
)
from polyglance.evaluation.ranking.ranks import Ranks, rank_both
from polyglance.evaluation.ranking.strict import strict_folds, strict_recalls


def synthetic(count=60, per_image=1, seed=0, noise=1.5):
    generator = np.random.default_rng(seed)
    images = generator.standard_normal((count, 16)).astype(np.float32)
    owner = np.arange(count).repeat(per_image)
    captions = images[owner] + noise * generator.standard_normal((len(owner), 16))
    return images, captions.astype(np.float32), owner


def naive_times_five(images, captions):
    """R@K image → text of an evaluator that takes captions 5i…5i+4 for image i's."""
    best = []
    for i, image in enumerate(images):
        places = np.argsort(np.argsort(-(captions @ image), kind="stable"))
        best.append(places[5 * i : 5 * i + 5].min())
    return [100 * np.mean(np.array(best) < k) for k in (1, 2, 5, 10)]


def test_by_hand():
    value = metrics(Ranks(np.array([0, 4, 5, 9]), np.array([0, 0, 10, 2, 99])))
    assert value.image_to_text.recalls == (25.0, 50.0, 100.0)
    assert value.text_to_image.recalls == pytest.approx((40.0, 60.0, 60.0))
    assert value.rsum == pytest.approx(335.0)
    assert value.mr == pytest.approx(335 / 6)
    assert value.image_to_text.mean_rank == pytest.approx(5.5)


def test_as_a_dictionary():
    value = metrics(Ranks(np.array([0, 4]), np.array([0, 0, 10, 2])))
    sides = {
        "image_to_text": {"r1": 50.0, "r5": 100.0, "r10": 100.0},
        "text_to_image": {"r1": 50.0, "r5": 75.0, "r10": 75.0},
    }
    sides["image_to_text"] |= {"median_rank": 3.0, "mean_rank": 3.0}
    sides["text_to_image"] |= {"median_rank": 2.0, "mean_rank": 4.0}
    assert value.as_dict() == {**sides, "rsum": 450.0, "mr": 75.0}


def test_the_mean_is_taken_of_every_number():
    one = metrics(Ranks(np.array([0, 4]), np.array([0, 0, 10, 2])))
    two = metrics(Ranks(np.array([9, 9]), np.array([7, 8, 8, 9])))
    found = mean([one, two, two])
    assert found.image_to_text.recalls == pytest.approx((50 / 3, 100 / 3, 100))
    assert found.text_to_image.recalls == pytest.approx((50 / 3, 25, 275 / 3))
    assert found.image_to_text.median_rank == pytest.approx((3 + 10 + 10) / 3)
    assert found.text_to_image.median_rank == pytest.approx((2 + 9 + 9) / 3)
    assert found.text_to_image.mean_rank == pytest.approx((4 + 9 + 9) / 3)


def test_median_rank_is_floored_then_counted_from_one():
    assert direction(np.array([0, 1])).median_rank == 1.0  # ⌊0.5⌋ + 1
    assert direction(np.array([3, 4])).median_rank == 4.0
    assert direction(np.array([2])).median_rank == 3.0


def test_appendix_a_naive_times_five_evaluator_of_replicated_captions():
    """One-caption languages replicated in a five-caption evaluator: R@5 = R@1, R@10 = R@2."""
    images, captions, owner = synthetic()
    once = rank_both(images, captions, owner)
    r1, _, r5, r10 = naive_times_five(images, captions.repeat(5, axis=0))
    assert r1 == r5 == metrics(once).image_to_text.r1
    assert r10 == 100 * np.mean(once.image_to_text < 2)
    assert metrics(once).image_to_text.r5 > r5


def test_appendix_a_replication_leaves_text_to_image_as_it_is():
    images, captions, owner = synthetic()
    once = rank_both(images, captions, owner)
    five = rank_both(images, captions.repeat(5, axis=0), owner.repeat(5))
    assert five.text_to_image.tolist() == once.text_to_image.repeat(5).tolist()
    assert five.image_to_text.tolist() == (5 * once.image_to_text).tolist()


def test_naive_evaluator_agrees_where_there_are_five_captions():
    images, captions, owner = synthetic(per_image=5)
    i2t = metrics(rank_both(images, captions, owner)).image_to_text
    assert naive_times_five(images, captions)[::2] == pytest.approx([i2t.r1, i2t.r5])


def test_folds_by_hand():
    """Alone, each pair is solved; together, images 0 and 2 take each other's captions."""
    images = np.array([[1, 0], [0, 1], [2, 0], [0, 2]], np.float32)
    owner = np.arange(4)
    full = rank_folds(images, images, owner)
    assert full.text_to_image.tolist() == [1, 1, 0, 0]
    folded = rank_folds(images, images, owner, folds=2)
    assert folded.text_to_image.tolist() == [0, 0, 0, 0]
    assert fold_metrics(full, owner).text_to_image.r1 == 50.0
    assert fold_metrics(folded, owner, 2).text_to_image.r1 == 100.0


def test_folds_average_each_fold_and_not_the_pool():
    """Fold one has three captions, fold two one: 1/3 and 1 average to 2/3, pooled 2/4."""
    ranks = Ranks(np.array([0, 0]), np.array([0, 20, 20, 0]))
    owner = np.array([0, 0, 0, 1])
    assert fold_metrics(ranks, owner, 2).text_to_image.r1 == pytest.approx(200 / 3)
    assert fold_metrics(ranks, owner, 1).text_to_image.r1 == 50.0
    assert Outcome(ranks, owner, np.unique(owner)).metrics().text_to_image.r1 == 50.0
    folded = Outcome(ranks, owner, np.unique(owner), folds=2)
    assert folded.metrics().text_to_image.r1 == pytest.approx(200 / 3)


def test_folds_equal_separate_evaluations_of_shuffled_captions():
    images, captions, owner = synthetic(23, per_image=3)
    shuffle = np.random.default_rng(1).permutation(len(owner))
    captions, owner = captions[shuffle], owner[shuffle]
    folded = fold_metrics(rank_folds(images, captions, owner, 4), owner, 4)
    recalls = []
    for part in fold_slices(23, 4):
        mine = (owner >= part.start) & (owner < part.stop)
        ranks = rank_both(images[part], captions[mine], owner[mine] - part.start)
        recalls.append(metrics(ranks).recalls)
    assert folded.recalls == pytest.approx(np.mean(recalls, axis=0))


def test_fold_sizes():
    assert [s.stop - s.start for s in fold_slices(5000, 5)] == [1000] * 5
    assert [s.stop - s.start for s in fold_slices(11, 3)] == [4, 4, 3]
    assert fold_slices(3, 3) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert fold_slices(3, 1) == [slice(0, 3)]
    for folds in (4, 0, -1):
        with pytest.raises(PolyglanceError, match=f"cannot make {folds} folds of 3"):
            fold_slices(3, folds)


def test_one_fold_is_the_default():
    """Together 1 of 4 captions is first, in each of two folds 1 of 1 or 0 of 3."""
    ranks = Ranks(np.array([0, 0]), np.array([20, 20, 20, 0]))
    owner = np.array([0, 0, 0, 1])
    assert fold_metrics(ranks, owner).text_to_image.r1 == 25.0
    assert fold_metrics(ranks, owner, 2).text_to_image.r1 == 50.0


@pytest.mark.parametrize("folds", [1, 2, 5])
def test_progress_is_reported_for_every_caption(folds):
    images, captions, owner = synthetic(11, per_image=3)
    told = []
    rank_folds(images, captions, owner, folds, progress=told.append)
    assert sum(told) == 33
    assert len(told) >= folds


@pytest.mark.parametrize("folds", [1, 2])
def test_folds_take_another_score(folds):
    """With the opposite score the worst comes first."""
    images = np.eye(4, dtype=np.float32)
    owner = np.arange(4)
    found = rank_folds(images, images, owner, folds, score=lambda a, b: -(a @ b.T))
    assert found.text_to_image.tolist() == [4 // folds - 1] * 4


def test_strict_recall_is_bounded_by_the_number_of_captions():
    owner = np.arange(4).repeat(5)
    perfect = np.tile(np.arange(5), 4)
    assert strict_recalls(perfect, owner) == {1: pytest.approx(20), 5: 100.0, 10: 100.0}
    eye = np.eye(4, dtype=np.float32)
    assert strict_folds(eye, eye[owner], owner, folds=2)[5] == 100.0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1, 1, 1], 100 * (1 / 3 + 1 + 1) * 2 / 6),
        ([1] * 20, 100 * (1 / 20 + 5 / 20 + 10 / 20) * 2 / 6),
        # Of 4 captions 2 are an image's own: 1 − C(2, 1)/C(4, 1); five are all of them.
        ([2, 2], 100 * (1 / 2 + 1 + 1) * 2 / 6),
        ([3, 1], 100 * ((3 / 4 + 1 / 4) / 2 + 1 + 1 + 1 / 2 + 1 + 1) / 6),
        # 1 − C(11, 5)/C(12, 5) = 5/12 of images with one caption, and so on.
        (
            [1] * 8 + [4],
            (8 * (1 + 5 + 10) / 12 + (1 - 8 / 12) + (1 - 56 / 792) + (1 - 0 / 66)) * 100 / 9 / 6
            + 100 * (1 / 9 + 5 / 9 + 1) / 6,
        ),
    ],
)
def test_chance_by_hand(counts, expected):
    assert chance(np.arange(len(counts)).repeat(counts)) == pytest.approx(expected, rel=1e-12)


def test_chance_is_what_random_scores_reach():
    generator = np.random.default_rng(0)
    owner = np.arange(40).repeat(generator.integers(1, 5, size=40))
    reached = []
    for _ in range(150):
        images = generator.standard_normal((40, 8))
        captions = generator.standard_normal((len(owner), 8))
        reached.append(metrics(rank_both(images, captions, owner)).mr)
    assert np.mean(reached) == pytest.approx(chance(owner), abs=0.5)
