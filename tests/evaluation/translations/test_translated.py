"""Models asked in translation, through `evaluate` and through the command."""

import json

import numpy as np
import pytest

from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.errors import NoWords, PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.evaluation.captions import choose_captions
from polyglance.evaluation.translations.translated import Translated, TranslatedTexts
from polyglance.evaluation.translations.translation import Translation
from polyglance.numerics.sets import VectorSets
from polyglance.recipes import load_recipe
from polyglance.translation import Translator

from ..conftest import FakeModel, make_dataset, make_vectors


class Swap(Translator):
    """`0.jpg en3` becomes `0.jpg de3`; texts named in `without` have no translation."""

    name, keeps = "swap", False

    def __init__(self, without=()):
        self.without = set(without)

    def translate(self, texts, source, target):
        swapped = [text.replace(f" {source}", f" {target}") for text in texts]
        return [
            None if old in self.without else new for old, new in zip(texts, swapped, strict=True)
        ]


@pytest.fixture
def noisy():
    dataset = make_dataset(30, {"en": 1, "de": 1, "fr": 1})
    return dataset, FakeModel(make_vectors(dataset), ["de", "en", "fr"], noise=1.0)


def vectors_of(model, texts):
    vectors = model.encode_text(texts)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_scores_are_the_mean_over_languages(noisy):
    dataset, model = noisy
    translated = Translated(model, Swap(), ["de", "en", "fr"])
    images = translated.encode_dataset(dataset)
    texts = [f"{i}.jpg en0" for i in range(30)]
    found = translated.similarity(images, translated.encode_text(texts, "en"))
    pictures = images.parts[0]
    wanted = [
        pictures @ vectors_of(model, [text.replace("en", code) for text in texts]).T
        for code in ("de", "en", "fr")
    ]
    np.testing.assert_allclose(found, np.mean(wanted, axis=0), atol=1e-5)


def test_consistency_helps_and_one_language_takes_its_place(noisy):
    dataset, model = noisy
    plain = evaluate(model, dataset, bootstrap=0)
    joint = evaluate(Translated(model, Swap(), ["de", "en", "fr"]), dataset, bootstrap=0)
    assert joint["en"].metrics.mr > plain["en"].metrics.mr
    assert joint["en"].metrics == joint["de"].metrics  # the same three texts
    to_english = Translated(model, Swap(), ["en"])
    english = evaluate(to_english, dataset, languages=["de"], bootstrap=0)
    assert english["de"].metrics == plain["en"].metrics
    assert english.similarity == "cosine, translated to en"


def test_what_has_no_translation_counts_as_it_is(noisy):
    model = noisy[1]
    model.languages = ["en"]
    translated = Translated(model, Swap({"3.jpg de0"}), ["en"])
    views = translated.encode_text(["2.jpg de0", "3.jpg de0"], "de")
    assert views.present.tolist() == [[True], [True]]
    wanted = vectors_of(model, ["2.jpg en0", "3.jpg de0"])
    np.testing.assert_allclose(views.parts[0], wanted, atol=1e-6)
    assert None in model.asked  # German is not told as a language


def test_a_translation_without_words_is_missing(noisy):
    model = noisy[1]

    class Picky(FakeModel):
        def encode_text(self, texts, language=None, *, show_progress=None):
            for index, text in enumerate(texts):
                if text == "1.jpg de0":
                    raise NoWords(text, index)
            return super().encode_text(texts, language)

    picky = Picky(model.images, ["de", "en"], noise=1.0)
    translated = Translated(picky, Swap(), ["de", "en"])
    views = translated.encode_text(["0.jpg en0", "1.jpg en0", "2.jpg en0"], "en")
    assert views.present.tolist() == [[True, True], [False, True], [True, True]]
    wanted = vectors_of(picky, ["0.jpg de0", "1.jpg en0", "2.jpg de0"])
    np.testing.assert_allclose(views.parts[0], wanted, atol=1e-6)


def test_models_that_attend_are_translated_too(noisy):
    dataset, model = noisy

    class Attending:
        similarity_name, languages = "scan", ["de", "en"]

        def encode_dataset(self, part, cache=None, show_progress=None):
            return VectorSets.from_lengths(model.encode_dataset(part), np.ones(len(part), int))

        def encode_text(self, texts, language=None, *, show_progress=None):
            lengths = np.array([1 + (" de" in text) for text in texts])
            return VectorSets.from_lengths(
                np.repeat(model.encode_text(texts), lengths, axis=0), lengths
            )

        def similarity(self, images, captions):
            return images.flat @ captions.flat[captions.offsets[:-1]].T

    translated = Translated(Attending(), Swap({"5.jpg en0"}), ["de", "en"])
    report = evaluate(translated, dataset, languages=["en"], bootstrap=0)
    assert report["en"].metrics.mr > evaluate(model, dataset, languages=["en"])["en"].metrics.mr


def test_a_translator_that_knows_nothing_is_refused(noisy):
    dataset, model = noisy
    translated = Translated(model, Swap(f"{i}.jpg en0" for i in range(30)), ["de"])
    with pytest.raises(PolyglanceError, match="swap: translates none of the 30 captions in 'en'"):
        translated.translate_captions(choose_captions(dataset, ["en"]))
    with pytest.raises(PolyglanceError, match="was not trained on language 'pt'"):
        Translated(model, Swap(), ["pt"])
    with pytest.raises(PolyglanceError, match="state its language"):
        translated.encode_text(["x"])


def test_weights_are_learnt_for_every_language_of_queries():
    photos = [
        CaptionedImage(
            f"{split}{i}", split, {c: {"independent": [f"{split}{i} {c}"]} for c in ("de", "en")}
        )
        for split in ("val", "test")
        for i in range(40)
    ]
    dataset = Dataset(photos, make_dataset().image_folder, "toy")

    class Uneven(FakeModel):
        """German says nothing of the photograph."""

        def encode_text(self, texts, language=None, *, show_progress=None):
            return super().encode_text(texts) * (language == "en") + 0.3 * np.random.default_rng(
                [len(texts), *texts[0].encode()]
            ).standard_normal((len(texts), 6)).astype(np.float32)

    model = Uneven(make_vectors(dataset), ["de", "en"], noise=0.2)
    translated = Translated(model, Swap(), ["de", "en"])
    average = evaluate(translated, dataset, bootstrap=0)
    translated.learn(dataset, "val")
    assert set(translated.weights) == {"de", "en"}
    assert all(weights.shares[1] > weights.shares[0] for weights in translated.weights.values())
    learnt = evaluate(translated, dataset, bootstrap=0)
    assert learnt.averages["all"].metrics.mr > average.averages["all"].metrics.mr
    assert learnt.similarity == "cosine, translated to de, en, weighted on val"
    assert translated.weight_notes()[0].startswith("weights of a query in 'de' in %: de ")


def test_views_are_taken_and_joined_by_rows():
    views = TranslatedTexts([np.eye(3), 2 * np.eye(3)], np.array([[True, False]] * 3), "en")
    joined = views.concatenate([views[np.array([2])], views[:1]])
    assert joined.parts[1].tolist() == [[0, 0, 2], [2, 0, 0]]
    assert (len(joined), joined.language, joined.present.shape) == (2, "en", (2, 2))


def test_what_a_translation_may_be():
    with pytest.raises(PolyglanceError, match="name one language"):
        Translation("argos", ("en", "de"))
    with pytest.raises(PolyglanceError, match="expected average"):
        Translation("argos", None, "mean")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "translator", ["http://127.0.0.1:1/translate", "file:/etc/passwd", "argos"]
)
def test_a_models_recipe_names_no_server_and_no_file(translator):
    class Foreign:
        recipe = load_recipe("trans-to-en", {"translation.translator": translator})

    with pytest.raises(PolyglanceError, match="not used without your consent"):
        Translation().resolve(Foreign())
    own = Translation(translator).resolve(Foreign())
    assert own == Translation(translator, ["en"])
    Foreign.recipe = load_recipe("trans-to-en")
    assert Translation().resolve(Foreign()) == Translation("captions:$data", ["en"])
    Foreign.recipe = load_recipe("trans-to-en", {"translation.translator": "file:$data/x.tsv"})
    assert Translation().resolve(Foreign()) == Translation("file:$data/x.tsv", ["en"])


def parallel(tmp_path):
    rows = [{"en": f"{i}.jpg en{n}", "de": f"{i}.jpg de0"} for i in range(12) for n in range(5)]
    path = tmp_path / "parallel.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"file:{path}"


def test_the_command_translates_to_a_language(command, tmp_path):
    file = parallel(tmp_path)
    options = ["--translator", file, "--translate-to", "en", "--json", str(tmp_path / "r.json")]
    text = command("1-0", "--languages", "de", *options)
    assert "de†" not in text
    value = json.loads((tmp_path / "r.json").read_text())
    assert value["similarity"] == "cosine, translated to en"
    assert value["languages"]["de"]["intervals"]


def test_options_that_need_others_are_refused(command, tmp_path):
    with pytest.raises(PolyglanceError, match="--consistency needs a --translator"):
        command("1-0", "--consistency", "average")
    with pytest.raises(PolyglanceError, match="--translator needs --translate-to"):
        command("1-0", "--translator", "argos")
    with pytest.raises(PolyglanceError, match="there is no split 'val'"):
        command("1-0", "--translator", parallel(tmp_path), "--consistency", "learned")


def test_progress_is_shown_as_asked(noisy, monkeypatch):
    _, model = noisy
    shown, own = [], model.encode_text

    def encode(texts, language=None, *, show_progress=None):
        shown.append(show_progress)
        return own(texts, language)

    monkeypatch.setattr(model, "encode_text", encode)
    monkeypatch.setattr(
        "polyglance.evaluation.translations.translated.translate",
        lambda made, texts, source, target, cache, show: [
            shown.append(show),
            *made.translate(texts, source, target),
        ][1:],
    )
    for asked in (True, False, None):
        translated = Translated(model, Swap(), ["de"])
        translated.encode_text(["0.jpg en0"], "en", show_progress=asked)
    assert shown == [True] * 3 + [False] * 3 + [None] * 3
