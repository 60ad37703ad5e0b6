import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyglance.evaluation.ranking.ranks import rank_both
from polyglance.evaluation.ranking.same_text import merge_texts, rank_same_text


def brute_force(scores: np.ndarray, positives: list[set[int]]) -> list[int]:
    """As HGR's eval_q2m: sort each row, take the place of the best positive."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return [
        min(place for place, item in enumerate(row) if item in right)
        for row, right in zip(order.tolist(), positives, strict=True)
    ]


@st.composite
def worlds(draw):
    images = draw(st.integers(1, 6))
    owner = list(range(images)) + draw(st.lists(st.integers(0, images - 1), max_size=8))
    texts = draw(st.lists(st.sampled_from("abcde"), min_size=len(owner), max_size=len(owner)))
    numbers = st.integers(-2, 2)
    vectors = draw(st.lists(numbers, min_size=2 * images, max_size=2 * images))
    meaning = {text: (draw(numbers), draw(numbers)) for text in "abcde"}
    captions = np.array([meaning[text] for text in texts], np.float32)
    return np.array(vectors, np.float32).reshape(images, 2), captions, np.array(owner), texts


@given(worlds(), st.integers(1, 4))
def test_ranks_are_those_of_sorting_with_all_positives(world, chunk) -> None:
    images, captions, owner, texts = world
    merged = merge_texts(texts)
    ranks = rank_same_text(images, captions, owner, merged, chunk=chunk)
    distinct = list(dict.fromkeys(texts))
    assert [texts[row] for row in merged.row] == distinct
    has = [{texts[i] for i in np.flatnonzero(owner == image)} for image in range(len(images))]
    scores = images @ captions[merged.row].T
    wanted = [{distinct.index(text) for text in own} for own in has]
    assert ranks.image_to_text.tolist() == brute_force(scores, wanted)
    wanted = [{image for image, own in enumerate(has) if text in own} for text in distinct]
    assert ranks.text_to_image.tolist() == brute_force(scores.T, wanted)


def test_distinct_texts_rank_as_always() -> None:
    random = np.random.default_rng(1)
    images, captions = random.normal(size=(7, 5)), random.normal(size=(20, 5))
    images, captions = images.astype(np.float32), captions.astype(np.float32)
    owner = np.arange(20) % 7
    ranks = rank_same_text(images, captions, owner, merge_texts([str(i) for i in range(20)]))
    usual = rank_both(images, captions, owner)
    assert ranks.image_to_text.tolist() == usual.image_to_text.tolist()
    assert ranks.text_to_image.tolist() == usual.text_to_image.tolist()


def test_another_clip_with_the_same_words_is_right() -> None:
    images = np.array([[1, 0], [0.9, 0.1]], np.float32)
    captions = np.array([[1, 0], [1, 0]], np.float32)
    usual = rank_both(images, captions, np.array([0, 1]))
    assert usual.text_to_image.tolist() == [0, 1]
    merged = merge_texts(["a man talks", "a man talks"])
    ranks = rank_same_text(images, captions, np.array([0, 1]), merged)
    assert (ranks.text_to_image.tolist(), ranks.image_to_text.tolist()) == ([0], [0, 0])
