"""What can be chosen of an evaluation, as options and as keywords."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation import EvaluateOptions, Translation, evaluate


def test_options_and_keywords_are_the_same(toy):
    dataset, model = toy
    options = EvaluateOptions(languages=["en"], folds=3, bootstrap=10, seed=4, strict=True)
    whole = evaluate(model, dataset, "test", options)
    words = {"languages": ["en"], "folds": 3, "bootstrap": 10, "seed": 4, "strict": True}
    assert evaluate(model, dataset, **words).as_dict(True) == whole.as_dict(True)
    other = evaluate(model, dataset, "test", options, folds=1, strict=False)
    assert (other.folds, other.seed, other["en"].strict) == (1, 4, None)
    assert options.folds == 3
    with pytest.raises(TypeError, match="fold"):
        evaluate(model, dataset, fold=3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"folds": 0}, "folds=0: must be at least 1"),
        ({"bootstrap": -1}, "bootstrap=-1: must be at least 0"),
        ({"seed": -1}, "seed=-1"),
        ({"languages": "en"}, r"languages='en': must be a list, such as \['en'\]"),
        ({"kinds": "machine"}, "kinds='machine': must be a list"),
        ({"same_text": True, "folds": 2}, "cannot be combined with `folds` or `strict`"),
        ({"same_text": True, "strict": True}, "cannot be combined with `folds` or `strict`"),
    ],
)
def test_combinations_that_mean_nothing(fields, message):
    with pytest.raises(PolyglanceError, match=message):
        EvaluateOptions(**fields)


class Recipe:
    """A recipe that asks in translation."""

    class translation:
        translator, to, consistency = "file:$data/pairs.tsv", None, "average"


def test_a_translation_is_completed_by_the_recipe(toy):
    model = toy[1]
    assert Translation().resolve(model) is None
    with pytest.raises(PolyglanceError, match="`targets` needs a `translator`"):
        Translation(targets=["en"]).resolve(model)
    with pytest.raises(PolyglanceError, match="`translator` needs `targets`"):
        Translation("argos").resolve(model)
    model.recipe = Recipe
    assert Translation().resolve(model) == Translation("file:$data/pairs.tsv", None, "average")
    english = Translation(targets=["en"]).resolve(model)
    assert english == Translation("file:$data/pairs.tsv", ["en"], None)
    assert Translation("argos").resolve(model) == Translation("argos", None, "average")


def test_queries_are_translated_where_the_options_say_so(toy, tmp_path):
    from polyglance.data.dataset import load_folder, save_folder

    save_folder(tmp_path / "toy", toy[0].images)
    dataset, model = load_folder(tmp_path / "toy"), toy[1]
    model.recipe = Recipe
    rows = [f"{i}.jpg en0\t{i}.jpg de0\n" for i in range(12)]
    (tmp_path / "toy" / "pairs.tsv").write_text("en\tde\n" + "".join(rows[1:]))
    plain = evaluate(model, dataset, languages=["de"], bootstrap=0)
    assert plain.similarity == "cosine"
    both = evaluate(model, dataset, languages=["de"], bootstrap=0, translation=Translation())
    assert both.similarity == "cosine, translated to en, de"
    assert both.notes == ["8 % of the translations of 'de' are missing"]
    with pytest.raises(PolyglanceError, match="queries: remove `translation`"):
        evaluate(model, dataset, translation=Translation(), perturb="typos:0.5")
    with pytest.raises(PolyglanceError, match="has no file"):
        evaluate(model, toy[0], translation=Translation())
