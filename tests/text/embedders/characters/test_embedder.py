"""Words by their characters: reading changes nothing, and unseen words travel with the call."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance import Model
from polyglance.errors import NoWords, PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import CharacterEmbedder, load_embedder
from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.characters.forms import FIRST, LAST, Form, forms_of
from polyglance.text.embedders.encoded import FIRST_UNSEEN
from tests.text.embedders.texts import encode, training_texts
from tests.text.threads import THREADS, at_once

SMALL = [
    "image.attention=false",
    "text.embedder.layers=[12, 10]",
    "text.embedder.char_dim=6",
    "text.embedder.word_length=10",
    "text.encoder.hidden=8",
    "joint.dim=8",
    "text.embedder.word_dim=7",
    "text.embedder.min_count=1",
]
CAPTIONS = {"en": ["a red dog", "red dog", "dog"], "de": ["ein roter hund läuft"]}
LETTERS = str.maketrans("0123456789", "ghijklmnop")


def recipe_of(*changes: str) -> Recipe:
    return load_recipe("liwe", parse_overrides([*SMALL, *changes]), shared=True)


def build(recipe: Recipe) -> CharacterEmbedder:
    return CharacterEmbedder.build(recipe, training_texts(CAPTIONS))


def make(*changes: str) -> Model:
    """Untrained, with batch norms that are not trivial."""
    recipe = recipe_of(*changes)
    torch.manual_seed(0)
    model = Model(recipe, build(recipe), 4, ["en", "de"])
    for name, value in model.network.named_buffers():
        if "running" in name:
            value.uniform_(0.5, 1.5)
    return model


def test_forms_of_the_training_captions_have_ids() -> None:
    embedder = build(recipe_of())
    table = embedder.tables[""]
    # The outer words of each caption come first, as version 0.1.0 numbered them.
    assert table.forms[:4] == [
        Form("a", FIRST),
        Form("dog", LAST),
        Form("red"),
        Form("red", FIRST),
    ]
    found = encode(embedder, ["a red dog", "dog"])
    assert found.unseen is None
    assert found.ids.flat.tolist() == [4, 6, 5, table.ids[Form("dog", FIRST | LAST)]]
    assert found.ids.lengths.tolist() == [3, 1]


def test_unseen_words_travel_with_the_call() -> None:
    embedder = build(recipe_of())
    found = encode(embedder, ["a blue dog", "blue blue", "red blue dog"])
    first = FIRST_UNSEEN
    assert [row.tolist() for row in found.ids] == [
        [4, first, 5],
        [first + 1, first + 2],
        [7, first, 5],
    ]
    spelt = embedder.tables[""].spell([Form("blue"), Form("blue", FIRST), Form("blue", LAST)])
    assert len(found.unseen) == 3
    np.testing.assert_array_equal(found.unseen.columns["characters"], spelt)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(["a", "red", "dog", "blau", "犬", "x" * 30]), max_size=6)),
    st.integers(3, 6),
    st.booleans(),
)
def test_every_id_is_the_form_of_its_word(
    captions: list[list[str]], longest: int, ends: bool
) -> None:
    embedder = build(recipe_of(f"text.max_length={longest}", f"text.embedder.ends={ends}".lower()))
    table = embedder.tables[""]
    texts = [" ".join(caption) for caption in captions]
    found = embedder.encode(texts, captions, ["en"] * len(texts))
    for row, caption in zip(found.ids, captions, strict=True):
        expected = forms_of(caption[:longest], ends)
        spelt = table.spell(expected)
        assert len(row) == len(expected)
        for number, form, characters in zip(row.tolist(), expected, spelt, strict=True):
            assert (number < FIRST_UNSEEN) == (form in table.ids)
            if number < FIRST_UNSEEN:
                np.testing.assert_array_equal(table.characters[number], characters)
            else:
                column = found.unseen.columns["characters"]
                np.testing.assert_array_equal(column[number - FIRST_UNSEEN], characters)


def test_reading_changes_nothing() -> None:
    embedder = build(recipe_of())
    size = len(embedder.tables[""])
    before = copy.deepcopy(embedder.tables[""].__dict__)
    texts = ["a blue dog", "zebras", "a red dog"]
    found, again = encode(embedder, texts), encode(embedder, texts)
    np.testing.assert_array_equal(found.ids.flat, again.ids.flat)
    np.testing.assert_array_equal(
        found.unseen.columns["characters"], again.unseen.columns["characters"]
    )
    assert len(embedder.tables[""]) == size
    after = embedder.tables[""].__dict__
    assert all(np.array_equal(before[name], after[name]) for name in ("forms", "characters"))
    assert before["ids"] == after["ids"]


def test_ids_of_an_earlier_call_stay_right() -> None:
    model = make()
    tokens = model.tokens(["a blue dog runs"])
    before = model.encode_tokens(tokens)
    for number in range(100):
        model.encode_text(f"red{'abcdefghij'[number % 10] * (number // 10 + 1)} dog{number}")
    np.testing.assert_allclose(model.encode_tokens(tokens), before, atol=1e-6)


@pytest.mark.parametrize("kind", ["liwe", "chargru"])
def test_a_trained_word_and_an_unseen_one_of_the_same_spelling_are_one(kind: str) -> None:
    """A loaded model has no forms of training captions: every word travels."""
    model = make(f"text.embedder.kind={kind}")
    bare = copy.deepcopy(model)
    table = bare.embedder.tables[""]
    bare.embedder.tables[""] = type(table)(table.alphabet, table.word_length)
    bare.network.text.words.forms = torch.from_numpy(bare.embedder.tables[""].characters)
    texts = ["a red dog", "blue dog", "x" * 200, "犬 🐕"]
    assert len(bare.tokens(texts).unseen) == 7
    np.testing.assert_allclose(bare.encode_text(texts), model.encode_text(texts), atol=1e-6)


def test_towers_of_each_language_have_alphabets_of_their_own() -> None:
    recipe = recipe_of("text.towers=per-language", "sampling.kind=languages")
    embedder = build(recipe)
    assert embedder.towers == ["en", "de"]
    assert "ä" in embedder.tables["de"].alphabet.symbols
    assert "ä" not in embedder.tables["en"].alphabet.symbols
    words = [["blau"], ["blau"]]
    found = embedder.encode(["blau", "blau"], words, ["en", "de"])
    assert found.ids.flat.tolist() == [FIRST_UNSEEN, FIRST_UNSEEN + 1]
    alone = Form("blau", FIRST | LAST)
    for row, code in zip(found.unseen.columns["characters"], ("en", "de"), strict=True):
        np.testing.assert_array_equal(row, embedder.tables[code].spell([alone])[0])
    with pytest.raises(PolyglanceError, match="state the language"):
        encode(embedder, ["blau"], None)


@pytest.mark.parametrize("towers", ["shared", "per-language"])
def test_saved_alphabets(tmp_path: Path, towers: str) -> None:
    recipe = recipe_of(f"text.towers={towers}", "sampling.kind=languages")
    embedder = build(recipe)
    embedder.save(tmp_path)
    loaded = load_embedder(recipe, tmp_path)
    assert isinstance(loaded, CharacterEmbedder)
    assert {name: table.alphabet for name, table in loaded.tables.items()} == {
        name: table.alphabet for name, table in embedder.tables.items()
    }
    other = {"shared": "per-language", "per-language": "shared"}[towers]
    changed = recipe_of(f"text.towers={other}", "sampling.kind=languages")
    with pytest.raises(PolyglanceError, match=r"alphabet\.json: does not fit text\.towers="):
        load_embedder(changed, tmp_path)


def test_what_is_unknown_and_what_may_become_of_words() -> None:
    embedder = build(recipe_of("text.max_length=4"))
    assert embedder.unknown(["red", "犬", "gdo", "dog", "猫"], "en") == (
        ("red", "犬", "gdo", "dog"),
        ("犬",),
    )
    found = embedder.substitutes("en")
    assert (found.mask, found.words.min()) == (3, 4)
    words = {embedder.tables[""].forms[i - 4].word for i in found.words.tolist()}
    assert words == {word for own in CAPTIONS.values() for one in own for word in one.split()}
    assert embedder.known_words("en") is None


def test_a_word_has_a_vector_for_each_place() -> None:
    embedder = build(recipe_of())
    assert embedder.positions == 4
    forms = []
    for sentence, place in embedder.in_positions("zebra"):
        found = encode(embedder, [" ".join(sentence)])
        forms.append(found.unseen.columns["characters"][found.ids.flat[place] - FIRST_UNSEEN])
    expected = embedder.tables[""].spell([Form("zebra", place) for place in range(4)])
    np.testing.assert_array_equal(forms, expected)
    assert build(recipe_of("text.embedder.ends=false")).positions == 1


def spelt(number: int) -> str:
    return np.base_repr(number + 7, 16).lower().translate(LETTERS)


def texts_of(thread: int, rounds: int = 12) -> list[str]:
    """Words that all threads share, and some of each thread's own."""
    return [f"{spelt(n)} red {spelt(1000 * thread + n)} dog" for n in range(rounds)]


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("kept", [7, 50_000])
@pytest.mark.parametrize("kind", ["liwe", "chargru"])
def test_threads_encode_as_alone(kind: str, kept: int) -> None:
    shared, alone = make(f"text.embedder.kind={kind}"), make(f"text.embedder.kind={kind}")
    shared.network.load_state_dict(alone.network.state_dict())
    words = shared.network.text.words
    words.cache = LRU(kept)
    before = {name: value.clone() for name, value in shared.network.state_dict().items()}
    expected = [alone.encode_text(texts_of(thread)) for thread in range(THREADS)]

    def work(thread: int) -> np.ndarray:
        return np.concatenate([shared.encode_text(text) for text in texts_of(thread)])

    for found, wanted in zip(at_once(work), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    after = shared.network.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert 0 < len(words.cache) <= kept


@pytest.mark.usefixtures("restless")
def test_a_failure_in_one_call_harms_no_other() -> None:
    model = make()
    with pytest.raises(NoWords, match="no words"):
        model.encode_text(["?!"])
    found = at_once(lambda number: model.encode_text(spelt(number)))
    for number, vectors in enumerate(found):
        np.testing.assert_allclose(vectors, make().encode_text(spelt(number)), atol=1e-5)
