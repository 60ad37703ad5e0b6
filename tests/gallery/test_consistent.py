"""Queries asked in all languages of a model: joint scores against plain sums."""

import json

import numpy as np
import pytest

from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.evaluation.translations.consistency import Consistency
from polyglance.evaluation.translations.consistency_file import read_weights, write_weights
from polyglance.evaluation.translations.literal_consistency import LiteralConsistency
from polyglance.gallery import open_gallery, search

pytestmark = pytest.mark.filterwarnings("ignore::polyglance.errors.PolyglanceWarning")


@pytest.fixture
def translator(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [
        {"fr": "chien rouge", "en": "a red dog", "de": "roter hund"},
        {"fr": "chat", "en": "cat", "de": "katze"},
        {"en": "red", "de": "zinnober"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"file:{path}"


def scores_of(model, pictures, text, language):
    vectors = open_gallery(model, pictures).embeddings
    return (vectors @ model.encode_text(text, language)[0]).astype(np.float64)


def found_scores(results):
    return {hit.path: hit.score for hit in results[0].hits}


def test_scores_are_the_mean_over_the_models_languages(model, pictures, translator):
    found = search(
        model,
        pictures,
        "chien rouge",
        top=12,
        language="fr",
        translator=translator,
        consistency=True,
    )
    english = scores_of(model, pictures, "a red dog", "en")
    german = scores_of(model, pictures, "roter hund", "de")
    paths = open_gallery(model, pictures).paths
    wanted = dict(zip(paths, (english + german) / 2, strict=True))
    assert found_scores(found) == pytest.approx(wanted, abs=2e-6)
    ranked = [hit.path for hit in found[0].hits]
    assert ranked == sorted(paths, key=lambda path: -wanted[path])
    assert "'chien rouge' is also searched for as de 'roter hund', en 'a red dog'" in found.notes
    assert (found[0].query.text, found[0].query.language) == ("chien rouge", "fr")


def test_a_translation_of_unknown_words_does_not_count(model, pictures, translator):
    found = search(
        model, pictures, "red", top=12, language="en", translator=translator, consistency=True
    )
    paths = open_gallery(model, pictures).paths
    wanted = dict(zip(paths, scores_of(model, pictures, "red", "en"), strict=True))
    assert found_scores(found) == pytest.approx(wanted, abs=2e-6)
    assert "'red' is not searched for in de" in found.notes


def test_kept_weights_join_the_scores(tmp_path, model, pictures, translator):
    folder = tmp_path / "run"
    model.save(folder)
    write_weights(folder, ["de", "en"], "other", {"fr": Consistency(np.array([3.0, 1.0]), 1.0)})
    options = {"top": 12, "language": "fr", "translator": translator, "consistency": True}
    found = search(folder, pictures, "chien rouge", **options)
    english = scores_of(model, pictures, "a red dog", "en")
    german = scores_of(model, pictures, "roter hund", "de")
    paths = open_gallery(model, pictures).paths
    wanted = dict(zip(paths, (3 * german + english) / 4 + 1, strict=True))
    assert found_scores(found) == pytest.approx(wanted, abs=2e-6)
    assert any("learned with other" in note for note in found.notes)
    one = search(folder, pictures, "chien rouge", translate_to="en", **options)
    assert any("weights for de, en; the mean is used" in note for note in one.notes)
    assert found_scores(one) == pytest.approx(dict(zip(paths, english, strict=True)), abs=2e-6)


def test_weights_are_read_as_they_were_written(tmp_path):
    generator = np.random.default_rng(0)
    literal = LiteralConsistency(
        generator.random((32, 2), np.float32), generator.random(32, np.float32), 0.5
    )
    reduced = Consistency(generator.random(2, np.float32), 0.25)
    write_weights(tmp_path, ["de", "en"], "t", {"de": literal, "fr": reduced})
    kept = read_weights(tmp_path)
    assert (kept.targets, kept.translator) == (["de", "en"], "t")
    np.testing.assert_array_equal(kept.weights["de"].second, literal.second)
    np.testing.assert_array_equal(kept.weights["de"].first, literal.first)
    np.testing.assert_array_equal(kept.weights["fr"].first, reduced.first)
    assert isinstance(kept.weights["fr"], Consistency)
    path = tmp_path / "consistency.json"
    text = path.read_text()
    damaged = [text.replace('"en"', '"en", "fr"'), text.replace('"shift": 0.25', '"shift": NaN')]
    assert text not in damaged
    for damage in ('{"targets": ["de"]}', "[]", *damaged):
        path.write_text(damage)
        with pytest.raises(PolyglanceError, match="not weights of CLC-C"):
            read_weights(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"translator": None}, "`consistency` needs a `translator`"),
        ({"language": None}, "needs the `language` of the queries"),
        ({"translate_to": "ja"}, "`translate_to` ja: the model knows de, en"),
        ({"queries": "chat"}, "'chat' can be translated to none of de, en"),
    ],
)
def test_invalid_input_is_refused(model, pictures, translator, changes, message):
    options = {"queries": "chien rouge", "language": "fr", "translator": translator}
    with pytest.raises(PolyglanceError, match=message):
        search(model, pictures, consistency=True, **{**options, **changes})


def test_notes_are_warnings(model, pictures, translator):
    with pytest.warns(PolyglanceWarning, match="is also searched for as"):
        search(
            model, pictures, "chien rouge", language="fr", translator=translator, consistency=True
        )
