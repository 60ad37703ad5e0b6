import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data import load_folder
from polyglance.errors import ArgumentError, PolyglanceError, PolyglanceWarning
from polyglance.gallery import (
    Hit,
    check_queries,
    gallery_of_dataset,
    gallery_of_files,
    search,
)
from polyglance.gallery.exact import best_first
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.models.small import table_model

SMALL = {"text.embedder.word_dim": 6, "text.encoder.hidden": 8, "joint.dim": 8}
SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=40)


@given(SCORES, st.integers(1, 50))
def test_best_first_is_a_sort_with_ties_by_index(values, top):
    array = np.array(values, np.float32) / 3
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:top]
    assert best_first(array, top).tolist() == expected


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40), st.integers(1, 9))
def test_best_first_is_a_sort_of_rounded_scores(values, top):
    rounded = np.round(np.array(values, np.float64), 6)
    expected = sorted(range(len(values)), key=lambda i: (-rounded[i], i))[:top]
    assert best_first(np.array(values, np.float32), top).tolist() == expected


@pytest.mark.parametrize("recipe", ["nce", "order"])
def test_search_equals_brute_force(make_model, pictures, recipe):
    model = make_model(recipe)
    queries = ["red dog", "roter hund", "a dog"]
    found = search(model, pictures, queries, top=5)
    images, texts = model.encode_images(pictures), model.encode_text(queries)
    for row, hits in enumerate(one.hits for one in found):
        if recipe == "order":
            scores = [-np.linalg.norm(np.maximum(texts[row] - image, 0)) for image in images]
        else:
            scores = [float(np.dot(texts[row], image)) for image in images]
        order = sorted(range(len(pictures)), key=lambda i: -scores[i])[:5]
        assert [hit.path for hit in hits] == [pictures[i] for i in order]
        assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]
        assert [hit.score for hit in hits] == pytest.approx([scores[i] for i in order], abs=2e-6)


@pytest.mark.parametrize("kind", [str, Path])
def test_one_path_is_one_image(model, pictures, kind):
    alone = model.encode_images(kind(pictures[0]))
    assert alone.shape == (1, model.dim)
    np.testing.assert_array_equal(alone, model.encode_images([pictures[0]]))


def test_copies_of_a_picture_share_one_place(model, pictures, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    names = ["b.png", "a.png", "d.png", "c.png"]
    for name in names:
        shutil.copy(pictures[0], folder / name)
    paths = [folder / name for name in names] + pictures[1:]
    hits = search(model, paths, "dog", top=len(paths))[0].hits
    assert len(hits) == len(pictures)
    assert [hit.rank for hit in hits] == list(range(1, len(pictures) + 1))
    [hit] = [hit for hit in hits if hit.path.parent == folder]
    assert [path.name for path in hit.paths] == ["a.png", "b.png", "c.png", "d.png"]
    assert all(not other.copies for other in hits if other is not hit)
    alone = search(model, pictures, "dog", top=len(pictures))[0].hits
    assert [other.score for other in hits] == [other.score for other in alone]


def test_top_larger_than_the_gallery_gives_all(model, pictures):
    hits = search(model, pictures, "dog", top=1000)[0].hits
    assert sorted(hit.path for hit in hits) == sorted(pictures)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_path_given_twice_is_found_once(model, pictures):
    hits = search(model, [*pictures, *map(str, pictures)], "dog", top=1000)[0].hits
    assert len(hits) == len(pictures)


def test_broken_pictures_are_skipped_by_name(model, pictures):
    broken = pictures[0].parent / "broken.jpg"
    broken.write_bytes(b"no picture")
    missing = pictures[0].parent / "missing.jpg"
    expected = search(model, pictures, "dog", top=4)
    with pytest.warns(PolyglanceWarning, match="skipped") as told:
        found = search(model, [broken, *pictures, missing], "dog", top=4)
    assert found.results == expected.results
    messages = [str(warning.message) for warning in told]
    reason = "not an image that can be read; save it as JPEG or PNG"
    assert f"{broken}: skipped, {reason}" in messages
    assert f"{missing}: skipped, no such file" in messages


def test_nothing_to_search(model, tmp_path):
    with pytest.raises(PolyglanceError, match="no images to search"):
        search(model, [], "dog")
    with pytest.raises(PolyglanceError, match=r"no image could be read .*gone\.png, no such"):
        search(model, [tmp_path / "gone.png"], "dog")


def test_unknown_words_are_reported(model, pictures):
    with pytest.warns(
        PolyglanceWarning, match="does not know 2 of the 3 words of 'dog qux cat': qux"
    ):
        search(model, pictures, "dog qux cat")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(search(model, pictures, "A red dog!")[0].hits) == 10


@pytest.mark.parametrize(
    ("query", "languages", "message"),
    [
        ("qux, zap", None, r"none of the words of 'qux, zap' \(qux, zap\).*languages: de, en"),
        ("…", None, "'…' has no words"),
        ("", None, "'' has no words"),
        ("dog", "dee", r"not trained on language 'dee' \(its languages: de, en\)"),
        (["dog", "hund"], ["en"], "2 queries were passed with 1 languages"),
        ([], None, "there is no query"),
    ],
)
def test_bad_queries(model, pictures, query, languages, message):
    with pytest.raises(PolyglanceError, match=message):
        search(model, pictures, query, language=languages)


def test_valid_queries_are_answered_beside_unknown_ones(model, pictures):
    alone = search(model, pictures, ["red dog", "hund"], top=3)
    with pytest.warns(PolyglanceWarning, match="knows none of the words of 'qux'"):
        found = search(model, pictures, ["red dog", "qux", "…", "hund"], top=3)
    assert [result.query.text for result in found] == ["red dog", "qux", "…", "hund"]
    assert [result.hits for result in found] == [alone[0].hits, [], [], alone[1].hits]
    assert [bool(result.query.problem) for result in found] == [False, True, True, False]
    value = found.as_dict()["queries"]
    assert value[1]["problem"].startswith("the model knows none")
    assert "problem" not in value[0]


def test_a_sentence_that_looks_as_if_it_excluded_something(model, pictures):
    with pytest.warns(PolyglanceWarning, match="searched as a whole.*--not 'hund'"):
        found = search(model, pictures, "red dog -hund", top=3)
    assert found[0].hits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(model, pictures, "red dog", without="hund")


def test_a_language_for_each_query_may_be_wrong_for_one(model, pictures):
    with pytest.warns(PolyglanceWarning, match="not trained on language 'xx'"):
        found = search(model, pictures, ["dog", "hund"], language=["xx", "de"], top=1)
    assert [len(result.hits) for result in found] == [0, 1]


@pytest.mark.parametrize(
    ("text", "language", "told"),
    [
        ("hund", "en", r"none of the words of 'hund' .hund., .*in de .German.: try --language de"),
        ("dog", "de", r"in en .English.: try --language en"),
    ],
)
def test_the_language_to_try_is_named(pictures, text, language, told):
    towers = {"text.towers": "per-language", "sampling.kind": "languages"}
    recipe = load_recipe("nce", {**SMALL, **towers})
    vocabularies = {"de": Vocabulary(["roter", "hund"]), "en": Vocabulary(["red", "dog"])}
    model = Model(recipe, TableEmbedder(recipe, vocabularies), 3, ["de", "en"])
    with pytest.raises(PolyglanceError, match=told):
        search(model, pictures, text, language=language)
    with pytest.warns(PolyglanceWarning, match=r"1 of the 2 words of 'roter dog': dog$"):
        search(model, pictures, "roter dog", language="de")
    with pytest.warns(PolyglanceWarning, match=r"2 of the 3 words .*: try --language en"):
        search(model, pictures, "red dog hund", language="de")


def test_words_past_the_longest_sentence_do_not_count(make_model):
    for changes in (["text.embedder.ends=true", "text.max_length=4"], ["text.max_length=3"]):
        query = check_queries(make_model("nce", *changes), "red qux dog zap")[0]
        expected = ("red", "qux", "dog")[: 2 if len(changes) == 2 else 3]
        assert (query.words, query.unknown) == (expected, ("qux",))


def test_top_below_one(model, pictures):
    gallery = gallery_of_files(model, pictures)
    with pytest.raises(PolyglanceError, match="top=0"):
        search(model, gallery, check_queries(model, "dog"), top=0)


def test_imported_features_are_searched_in_their_dataset(toy):
    recipe = load_recipe(
        "nce",
        parse_overrides(["image.feature=imported/toy", "joint.dim=8", "text.encoder.hidden=8"]),
    )
    model = table_model(recipe, ["red", "dog"])
    dataset = load_folder(toy)
    gallery = gallery_of_dataset(model, dataset)
    assert gallery.paths == [Path(photo.image) for photo in dataset.images]
    assert not gallery.has_files
    assert np.allclose(gallery.embeddings, model.encode_dataset(dataset), atol=1e-6)
    hit = search(model, gallery, "red dog", top=1)[0].hits[0]
    scores = gallery.embeddings @ model.encode_text("red dog")[0]
    assert hit == Hit(gallery.paths[int(scores.argmax())], round(float(scores.max()), 6), 1)
    with pytest.raises(PolyglanceError, match=r"imported/toy.*search the dataset folder"):
        gallery_of_files(model, dataset.paths())


def test_a_diverged_model_is_an_error(model, pictures):
    model.network.image.mean.fill_(float("nan"))
    with pytest.raises(PolyglanceError, match="not finite"):
        gallery_of_files(model, pictures)


def test_mistakes_name_the_parameters_of_the_function(model, pictures):
    with pytest.raises(ArgumentError, match="`translate_to` needs a `translator`"):
        search(model, pictures, "red dog", translate_to="de")
    with pytest.raises(ArgumentError, match=r"`consistency` cannot .* `like` or `without`"):
        search(model, pictures, "red dog", without="hund", consistency=True)
    with pytest.raises(ArgumentError, match="`translator` needs the `language` of the queries"):
        search(model, pictures, "red dog", translator="argos")
