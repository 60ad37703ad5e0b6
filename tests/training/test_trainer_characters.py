"""Whole trainings on characters: resumed, saved, and asked with what they never saw."""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance import Model
from polyglance.data.dataset import CaptionTable
from polyglance.errors import NoWords, PolyglanceError
from polyglance.gallery.query import check_query
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.text.embedders import CharacterEmbedder, TrainingTexts
from polyglance.training.checkpoint import FILE
from tests.conftest import WORDS
from tests.text.tiny_bert import write_bert
from tests.training.runs import run, same, stop_after, weights

SMALL = [
    "image.attention=false",
    "text.embedder.layers=[12, 10]",
    "text.embedder.char_dim=6",
    "text.embedder.word_length=10",
]
JOINT = [*SMALL, "training.evaluate_every=7", "training.epochs=4"]
TEXTS = ["red dog runs", "blauer hund", "犬 🐕", "x" * 200, "red"]
CODES = ["en", "de"]


def model(*overrides: str, recipe: str = "liwe") -> Model:
    """Untrained, with batch norms that are not trivial."""
    small = [
        "text.encoder.hidden=8",
        "joint.dim=8",
        "text.embedder.word_dim=7",
        "text.embedder.min_count=1",
        *SMALL,
    ]
    made = load_recipe(recipe, parse_overrides([*small, *overrides]), shared=True)
    by_language = {
        code: {"independent": [word for group in groups for word in group]}
        for code, groups in WORDS.items()
    }
    table = CaptionTable.collect([(0, by_language)])
    texts = TrainingTexts(table, [[text] for text in table.texts])
    torch.manual_seed(0)
    result = Model(made, CharacterEmbedder.build(made, texts), 4, CODES)
    for name, value in result.network.named_buffers():
        if "running" in name:
            value.uniform_(0.5, 1.5)
    return result


@pytest.mark.parametrize("name", ["liwe", "liwe-large", "liwe-chargru", "cmlr"])
def test_recipes_learn_both_languages(toy: Path, tmp_path: Path, name: str) -> None:
    settings = [*SMALL[:1], *SMALL[2:], "training.epochs=10", "training.evaluate_every=20"]
    result = run(toy, tmp_path / "run", *settings, recipe=name)
    assert min(result.progress.evaluations[-1]["mr"].values()) > 50
    loaded = Model.load(tmp_path / "run")
    np.testing.assert_allclose(
        loaded.encode_text(TEXTS), result.model.encode_text(TEXTS), atol=1e-6
    )
    assert (tmp_path / "run" / "alphabet.json").is_file() == (name != "cmlr")


def test_killed_runs_resume_to_the_same_bits_and_counts(toy: Path, tmp_path: Path) -> None:
    whole = run(toy, tmp_path / "whole", *JOINT, recipe="liwe-joint")
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *JOINT, recipe="liwe-joint", callbacks=stop_after(9))
    run(toy, tmp_path / "cut", *JOINT, recipe="liwe-joint", resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")
    for folder in ("whole", "cut"):
        steps = load(tmp_path / folder / FILE)
        # One image loss and one of captions an update.
        assert steps == {
            "objective.step": whole.progress.update,
            "captions_objective.step": whole.progress.update,
        }


def load(path: Path) -> dict[str, int]:
    from safetensors.torch import load_file

    return {k: int(v) for k, v in load_file(path).items() if k.endswith("objective.step")}


def test_several_image_losses_are_one_update(toy: Path, tmp_path: Path) -> None:
    settings = [*JOINT, "sampling.grounded=null", "training.updates=5"]
    run(toy, tmp_path / "run", *settings, recipe="liwe-joint")
    assert load(tmp_path / "run" / FILE)["objective.step"] == 5


@pytest.mark.parametrize("embedder", ["liwe", "chargru"])
@settings(max_examples=15)
@given(
    texts=st.lists(
        st.lists(st.text("abdehort狗é🐕Ж", min_size=1, max_size=30), min_size=1, max_size=5).map(
            " ".join
        ),
        min_size=1,
        max_size=5,
    ),
    data=st.data(),
)
def test_neither_padding_nor_order_changes_an_embedding(
    embedder: str, texts: list[str], data: st.DataObject
) -> None:
    made = MODELS.setdefault(embedder, model(f"text.embedder.kind={embedder}"))
    texts = [text for text in texts if any(c.isalpha() for c in text)] or ["a"]
    order = data.draw(st.permutations(range(len(texts))))
    together = made.encode_text(texts)
    assert np.isfinite(together).all()
    shuffled = made.encode_text([texts[i] for i in order])
    np.testing.assert_allclose(shuffled, together[list(order)], atol=1e-5)
    alone = np.concatenate([made.encode_text(text) for text in texts])
    np.testing.assert_allclose(alone, together, atol=1e-5)


MODELS: dict[str, Model] = {}


def test_unpacked_as_in_the_authors_code_depends_on_the_batch() -> None:
    for embedder in ("liwe", "chargru"):
        made = model(f"text.embedder.kind={embedder}", "compat.unpacked=true")
        together = made.encode_text(["red", "a red dog that runs"])
        assert np.abs(together[0] - made.encode_text("red")[0]).max() > 1e-4
        np.testing.assert_allclose(
            together[1], made.encode_text("a red dog that runs")[0], atol=1e-5
        )


def test_unseen_words_scripts_and_emoji_are_read() -> None:
    made = model()
    codes = made.encode_text(TEXTS)
    assert np.isfinite(codes).all()
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1, atol=1e-5)
    misspelt = check_query(made, "rde dgo", "en")
    assert misspelt.unknown == ()
    assert check_query(made, "red 犬", "en").unknown == ("犬",)
    with pytest.raises(PolyglanceError, match="knows none of the words"):
        check_query(made, "犬", "en")
    for empty in ("?!", "", "   "):
        with pytest.raises(NoWords, match=r"the text '.*' has no words"):
            made.encode_text(["red", empty])


def test_parameters_are_counted_by_part() -> None:
    made = model()
    parts = made.parameters()
    embedder = made.network.text.words
    assert parts["words"] == sum(p.numel() for p in embedder.parameters())
    assert parts["all"] == sum(p.numel() for p in made.network.parameters())
    assert parts["all"] == parts["image"] + parts["words"] + parts["text"]


def test_reading_unseen_words_changes_nothing() -> None:
    made = model()
    tokens, table = made.tokens(["red dog runs", "zebra"]), made.embedder.tables[""]
    before, size = made.encode_tokens(tokens), len(table)
    for number in range(100):
        made.encode_text(f"red{'abcdefghij'[number % 10] * (number // 10 + 1)} dog{number}")
    assert len(table) == size
    np.testing.assert_array_equal(made.encode_tokens(tokens), before)


def test_a_tower_for_each_language(toy: Path, tmp_path: Path) -> None:
    settings = [*SMALL, "text.towers=per-language", "sampling.kind=languages", "training.epochs=1"]
    result = run(toy, tmp_path / "run", *settings, recipe="liwe")
    loaded = Model.load(tmp_path / "run")
    assert set(loaded.embedder.towers) == {"de", "en"}
    english = result.model.encode_text("red", "en")
    np.testing.assert_allclose(loaded.encode_text("red", "en"), english, atol=1e-6)
    assert not np.allclose(loaded.encode_text("red", "de"), english)
    with pytest.raises(PolyglanceError, match="state the language"):
        loaded.encode_text("red")


def test_augmentation_draws_training_words_only(toy: Path, tmp_path: Path) -> None:
    result = run(toy, tmp_path / "run", *SMALL, "augment.word_drop=0.3", recipe="liwe")
    found, forms = result.model.embedder.substitutes("en"), result.model.embedder.tables[""].forms
    assert found.words.tolist() == list(range(4, 4 + len(forms)))
    words = {form.word for form in forms}
    assert words == {w for groups in WORDS.values() for g in groups for w in g} | {"a", "that"}


def test_romanised_text_has_latin_letters_alone() -> None:
    pytest.importorskip("sudachipy")
    made = model("text.romanise=true", "text.embedder.alphabet=lavse")
    assert check_query(made, "犬が走る").words == ("inu", "ga", "hashiru")
    assert np.isfinite(made.encode_text(["犬が走る"], "ja")).all()


def test_pretrained_vectors_go_beside_those_from_characters(toy: Path, tmp_path: Path) -> None:
    file = tmp_path / "toy.vec"
    file.write_text("3 5\ndog 1 0 0 0 0\nhund 1 0 0 0 0\nnever 0 0 1 0 0\n")
    settings = [*SMALL, f"text.embedder.vectors={file}", "training.epochs=1"]
    result = run(toy, tmp_path / "run", *settings, recipe="liwe-glove")
    table = weights(tmp_path / "run")["text.words.table"]
    assert table.tolist() == [[0.0] * 5, [1.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0]]
    assert result.model.network.text.gru.input_size == 8 + 5
    assert result.model.parameters()["frozen"] == 15
    file.unlink()
    shutil.move(tmp_path / "run", tmp_path / "moved")
    loaded = Model.load(tmp_path / "moved")
    np.testing.assert_allclose(
        loaded.encode_text(TEXTS), result.model.encode_text(TEXTS), atol=1e-6
    )
    with pytest.raises(PolyglanceError, match=r"no such file; set pretrained word vectors"):
        run(toy, tmp_path / "other", *settings, recipe="liwe-glove")
    file.write_text("never 1 2\n")
    with pytest.raises(PolyglanceError, match="a vector for none of the"):
        run(toy, tmp_path / "other", *settings, recipe="liwe-glove")


LINES = ["dog 1 0 0 0 0.5", "hund 1 0 0 -2e-1 0", "never 0 0 1 0 0"]
FILES = {
    "glove.840B.300d.txt": LINES,
    "wiki.en.vec": ["3 5", *LINES],
    "glove.txt.gz": LINES,
    "cc.en.300.vec.gz": ["3 5", *LINES],
}


@pytest.mark.parametrize("name", FILES)
def test_vectors_of_glove_and_fasttext_are_read_from_disk(
    toy: Path, tmp_path: Path, name: str
) -> None:
    """GloVe's files have no header, fastText's have one; both may be gzipped."""
    text = "".join(f"{line}\n" for line in FILES[name]).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    settings = [*SMALL, f"text.embedder.vectors={tmp_path / name}", "training.updates=2"]
    result = run(toy, tmp_path / "run", *settings, recipe="liwe-glove")
    golden = torch.tensor([[0.0] * 5, [1, 0, 0, 0, 0.5], [1, 0, 0, -0.2, 0]])
    torch.testing.assert_close(weights(tmp_path / "run")["text.words.table"], golden)
    with torch.no_grad():
        result.model.network.text.words.table[1] += 5.0
    changed = result.model.encode_text(["a dog", "a cat"], "en")
    np.testing.assert_allclose(
        Model.load(tmp_path / "run").encode_text(["a cat"], "en"), changed[1:], atol=1e-6
    )
    assert (
        np.abs(Model.load(tmp_path / "run").encode_text(["a dog"], "en") - changed[:1]).max() > 1e-3
    )


def test_a_frozen_transformer_under_a_gru(toy: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    bert = write_bert(tmp_path / "bert")
    settings = [
        "image.attention=false",
        "text.embedder.kind=transformer",
        f"text.embedder.pretrained={bert}",
    ]
    settings += ["training.epochs=8", "training.evaluate_every=20"]
    result = run(toy, tmp_path / "run", *settings, recipe="cmlr")
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45
    trained = result.model.network.text.words
    from safetensors.torch import load_file

    before = load_file(bert / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert torch.equal(trained.encoder.embeddings.word_embeddings.weight, before)
    assert not trained.train().encoder.training
    parts = result.model.parameters()
    assert parts["frozen"] == sum(p.numel() for p in trained.encoder.parameters())
    assert parts["all"] < parts["frozen"]
    shutil.rmtree(bert)
    loaded = Model.load(tmp_path / "run")
    found = result.model.encode_text(["a red dog", "dog"])
    np.testing.assert_allclose(loaded.encode_text(["a red dog", "dog"]), found, atol=1e-6)
    np.testing.assert_allclose(loaded.encode_text("dog")[0], found[1], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["text.encoder.kind=transformer"], "has its own word vectors"),
        (
            ["text.embedder.kind=table", "text.embedder.layers=[8, 8]"],
            "of kind table has no field .layers",
        ),
    ],
)
def test_conflicting_settings_are_refused(change: list[str], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("liwe", parse_overrides(change))
