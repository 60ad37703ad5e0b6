"""Data conditions: exact halves, kinds by language, captions drawn once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import DataRecipe
from polyglance.training.inputs.conditions import _count, select_captions


def table(images: int = 40) -> CaptionTable:
    """Per image 5 en and de independent captions, 1 translation in en, de, fr; cs on evens."""
    rows = []
    for image in range(images):
        for code in ("en", "de"):
            rows += [(image, code, "independent")] * 5 + [(image, code, "translation")]
        rows += [(image, "fr", "translation")]
        rows += [(image, "cs", "translation")] * (image % 2 == 0)
    numbers, codes, kinds = zip(*rows, strict=True)
    return CaptionTable([""] * len(rows), np.array(numbers), list(codes), list(kinds))


def images_of(source: CaptionTable, rows: np.ndarray, code: str) -> set[int]:
    return {int(source.image[row]) for row in rows if source.languages[row] == code}


def test_everything_by_default() -> None:
    source = table()
    assert select_captions(source, DataRecipe(), 0).tolist() == list(range(len(source)))


@given(st.integers(0, 50))
def test_overlap_is_the_same_half_and_disjoint_the_complement(seed: int) -> None:
    source = table()
    half = DataRecipe(kinds=["independent"], images=0.5)
    rows = select_captions(source, half, seed)
    assert images_of(source, rows, "en") == images_of(source, rows, "de")
    assert len(images_of(source, rows, "en")) == 20
    apart = half.model_copy(update={"assignment": "disjoint"})
    rows = select_captions(source, apart, seed)
    english, german = images_of(source, rows, "en"), images_of(source, rows, "de")
    assert len(english) == len(german) == 20
    assert not english & german


def test_the_authors_halves_are_neither() -> None:
    source, half = table(400), DataRecipe(kinds=["independent"], images=0.5)
    rows = select_captions(source, half, 0, own_images=True)
    shared = len(images_of(source, rows, "en") & images_of(source, rows, "de")) / 200
    assert 0.4 < shared < 0.6


def test_a_half_alone_is_the_half_of_both() -> None:
    source = table()
    both = select_captions(source, DataRecipe(kinds=["independent"], images=0.5), 3)
    english = CaptionTable(
        source.texts,
        source.image,
        [code if code == "en" else "xx" for code in source.languages],
        source.kinds,
    )
    alone = select_captions(english, DataRecipe(kinds=["independent"], images=0.5), 3)
    assert images_of(source, both, "en") == images_of(english, alone, "en")


def test_kinds_by_language() -> None:
    source = table(2)
    recipe = DataRecipe(kinds={"en": ["independent"], "de": ["translation"]})
    rows = select_captions(source, recipe, 0)
    counts = Counter((source.languages[r], source.kinds[r]) for r in rows)
    assert counts == {
        ("en", "independent"): 10,
        ("de", "translation"): 2,
        ("fr", "translation"): 2,
        ("cs", "translation"): 1,
    }


def test_complete_images_have_every_language() -> None:
    source = table(10)
    rows = select_captions(source, DataRecipe(complete=["en", "cs"]), 0)
    assert images_of(source, rows, "en") == {0, 2, 4, 6, 8}


def test_languages_of_complete_are_not_trained_on() -> None:
    source = table()
    recipe = DataRecipe(languages=["en"], complete=["en", "cs"], kinds=["translation"])
    rows = select_captions(source, recipe, 0)
    assert [source.languages[row] for row in rows] == ["en"] * 20
    assert images_of(source, rows, "en") == set(range(0, 40, 2))


@given(st.integers(1, 7), st.integers(0, 20))
def test_captions_per_image(count: int, seed: int) -> None:
    source = table(12)
    rows = select_captions(source, DataRecipe(captions_per_image=count), seed)
    sizes = Counter((int(source.image[r]), source.languages[r]) for r in rows)
    available = Counter(zip(source.image.tolist(), source.languages, strict=True))
    assert sizes == {key: min(count, n) for key, n in available.items()}
    assert rows.tolist() == sorted(set(rows.tolist()))


def count_or_none(wanted: float, available: int, parts: int) -> int | None:
    try:
        return _count(wanted, available, parts)
    except PolyglanceError:
        return None


@given(
    st.integers(1, 200),
    st.integers(1, 4),
    st.sampled_from([0.1, 0.2, 0.25, 0.3, 1 / 3, 0.34, 0.5, 0.6, 0.75, 0.9, 1.0])
    | st.floats(0.01, 1.5),
)
def test_a_share_is_rounded_but_never_more_than_a_part(
    available: int, parts: int, share: float
) -> None:
    count, rounded = count_or_none(share, available, parts), round(share * available)
    if 0 < rounded * parts <= available:
        assert count == rounded
    elif rounded and share * parts <= 1 and available >= parts:
        assert count == available // parts
    else:
        assert count is None


@given(st.integers(1, 200), st.integers(1, 4), st.integers(1, 300))
def test_a_number_of_images_is_taken_as_it_is(available: int, parts: int, wanted: int) -> None:
    expected = wanted if wanted * parts <= available else None
    assert count_or_none(wanted, available, parts) == expected


@pytest.mark.parametrize("images", [2, 3, 7, 39, 40, 41])
def test_disjoint_halves_of_any_number_of_images(images: int) -> None:
    source = table(images)
    recipe = DataRecipe(kinds=["independent"], images=0.5, assignment="disjoint")
    rows = select_captions(source, recipe, 0)
    english, german = images_of(source, rows, "en"), images_of(source, rows, "de")
    assert len(english) == len(german) == images // 2
    assert not english & german


def test_drawn_captions_depend_on_the_seed() -> None:
    source, one = table(), DataRecipe(captions_per_image=1)
    first, again = select_captions(source, one, 0), select_captions(source, one, 0)
    assert first.tolist() == again.tolist()
    assert first.tolist() != select_captions(source, one, 1).tolist()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"images": 41}, "images from 40"),
        ({"images": 0.6, "assignment": "disjoint"}, "4 parts of 24"),
        ({"complete": ["en", "ja"]}, "no image has captions in en, ja"),
    ],
)
def test_impossible_conditions_are_refused(fields: dict, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        select_captions(table(), DataRecipe(**fields), 0)
