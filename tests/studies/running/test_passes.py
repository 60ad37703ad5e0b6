"""Studies that add languages train each language as much whatever their number."""

import pytest

from polyglance.recipes.schema import Recipe
from polyglance.studies import load_study, make_plan
from tests.studies.planted import facts

LANGUAGES = ("en", "de", "fr", "cs", "pt", "zh", "ar", "es", "uk", "hi")
CAPTIONS = {"en": 35_528, "en independent": 30_000, "all": 180_336}
"""Training captions of flickr8k-ml."""


def recipes(study: str, profile: str = "standard") -> dict[str, Recipe]:
    """A recipe of each row."""
    plan = make_plan(load_study(study), profile, facts(20, LANGUAGES), seeds=1)
    return {name: run.recipe for run in plan.runs.values() for name in run.rows if run.recipe}


@pytest.mark.parametrize("profile", ["quick", "standard", "paper"])
@pytest.mark.parametrize(
    ("study", "rows"),
    [
        ("liwe-languages", "small-"),
        ("liwe-languages", "large-"),
        ("liwe-languages", "table-"),
        ("smalr-languages", "liwe-small-"),
        ("smalr-languages", "liwe-large-"),
        ("vsepp-languages", "vsepp-"),
        ("vsepp-languages", "nce-"),
    ],
)
def test_rows_pass_over_their_captions_equally_often(study: str, rows: str, profile: str) -> None:
    found = {n: r for n, r in recipes(study, profile).items() if n.startswith(rows)}
    assert len(found) >= 2
    assert {recipe.training.updates for recipe in found.values()} == {None}
    assert len({recipe.training.epochs for recipe in found.values()}) == 1


@pytest.mark.parametrize("rows", ["mule-", "smalr-"])
def test_tuples_have_every_language_in_every_batch(rows: str) -> None:
    found = [r for n, r in recipes("smalr-languages").items() if n.startswith(rows)]
    assert len(found) >= 4
    assert {recipe.sampling.kind for recipe in found} == {"tuples"}
    assert len({(r.training.updates, r.training.batch_size) for r in found}) == 1


def test_the_grounded_model_sees_captions_as_often_as_the_english_one() -> None:
    found = recipes("zero-shot-languages")
    grounded, english = found["grounded"].training, found["before"].training
    passes = [
        training.updates * training.batch_size / CAPTIONS[which]  # type: ignore[operator]
        for training, which in ((grounded, "all"), (english, "en independent"))
    ]
    assert passes == pytest.approx([4.3, 4.3], abs=0.05)


@pytest.mark.parametrize(
    "study", ["gpo-aggregators", "gpo-sequence-model", "gpo-size-augmentation", "gpo-variants"]
)
def test_rows_of_all_languages_say_how_often_they_see_a_caption(study: str) -> None:
    found = recipes(study)
    passes = {
        (name.startswith("all-"), round(t.updates * t.batch_size / CAPTIONS[which], 1))
        for name, recipe in found.items()
        for t in [recipe.training]
        for which in ["all" if name.startswith("all-") else "en"]
        if t.updates
    }
    assert passes == {(True, 1.8), (False, 5.0)}
    section = load_study(study).parts[-1]
    assert "see a caption 1.8 times, the rows of English five times" in " ".join(
        section.note.split()
    )
    for claim in load_study(study).claims:
        for text in claim.compare:
            assert len({word.startswith("all-") for word in text.split()[::2]}) == 1
