"""Words in other letters."""

import pytest

from polyglance.data import CaptionedImage, Dataset
from polyglance.evaluation.perturb import make_perturber

TEXT = "Ein Mädchen, großes Łódź; çà й हिन्दी 雪"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("upper:1", "EIN MÄDCHEN, GROSSES ŁÓDŹ; ÇÀ Й हिन्दी 雪"),
        ("lower:1", "ein mädchen, großes łódź; çà й हिन्दी 雪"),
        ("title:1", "Ein Mädchen, Großes Łódź; Çà Й हिन्दी 雪"),
        ("unmarked:1", "Ein Madchen, grosses Lodz; ca й हिन्दी 雪"),
    ],
)
def test_every_word_is_respelt_and_nothing_else_changes(kind: str, expected: str, tmp_path) -> None:
    data = Dataset(
        [CaptionedImage("a.jpg", "train", {"de": {"independent": [TEXT]}})], tmp_path, "d"
    )
    (made,), told = make_perturber(kind, data)([TEXT], "de")
    assert made == expected
    before, after = TEXT.replace(";", "").split(), expected.replace(";", "").split()
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    assert (told.name, told.words, told.changed) == (kind, 8, changed)


def test_marks_that_are_letters_of_their_own_are_taken_apart(tmp_path) -> None:
    """Typed as a letter and a mark, as some systems do, or as one character: alike."""
    data = Dataset(
        [CaptionedImage("a.jpg", "train", {"fr": {"independent": ["x"]}})], tmp_path, "d"
    )
    apart = "e\u0301te\u0301"
    assert make_perturber("unmarked:1", data)([apart], "fr")[0] == ["ete"]
