"""Size augmentation: the official rates, in order, in training only, the same from any start."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import AugmentRecipe
from polyglance.text.embedders import Substitutes, TableEmbedder, Vocabulary
from polyglance.training.inputs.augment import Augmenter, change_words, compact, keep_vectors
from tests.conftest import write_toy
from tests.training.runs import run, same, stop_after, weights
from tests.training.samplers.planted import data as planted_data

MASK, SIZE = 1000, 1000
WORDS = Substitutes(MASK, np.arange(500, SIZE), np.array([1, 2]))
FULL = ("augment.vector_drop=0.2", "augment.word_drop=0.2", "image.pooling=max", "text.pooling=max")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def captions(count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Captions <start> w w+1 … <end> of words below 500, which no substitute is."""
    ids = np.tile(np.arange(10, 10 + length), (count, 1))
    ids[:, 0], ids[:, -1] = 1, 2
    return ids, np.full(count, length)


def test_every_fifth_region_goes() -> None:
    keep = keep_vectors(np.full(3000, 36), AugmentRecipe(vector_drop=0.2), rng())
    assert keep.shape == (3000, 36)
    assert keep.mean() == pytest.approx(0.8, abs=0.003)
    assert keep.sum(1).min() < 24 < 33 < keep.sum(1).max()


def test_the_grids_rule_drops_a_tenth_and_leaves_a_fifth_of_images_whole() -> None:
    keep = keep_vectors(np.full(6000, 81), AugmentRecipe(vector_drop=0.2, varying=True), rng())
    dropped = 1 - keep.mean(1)
    assert dropped.mean() == pytest.approx(0.096, abs=0.002)
    # r ≤ 0.2, and the rare others that lose nothing: ∫ (1 − 0.2 r)^81 dr from 0.2 is 0.0024.
    assert (dropped == 0).mean() == pytest.approx(0.202, abs=0.015)


def test_words_go_at_the_official_rates() -> None:
    ids, lengths = captions(4000, 30)
    changed, kept = change_words(ids, lengths, AugmentRecipe(word_drop=0.2), WORDS, rng())
    inside = np.arange(changed.shape[1]) < kept[:, None]
    total = ids.size
    assert kept.sum() / total == pytest.approx(0.92, abs=0.003)
    assert (changed[inside] == MASK).sum() / total == pytest.approx(0.10, abs=0.003)
    random = (changed[inside] >= 500) & (changed[inside] < SIZE)
    assert random.sum() / total == pytest.approx(0.02, abs=0.002)
    assert not changed[~inside].any()
    assert (changed[:, 0] == 1).mean() == pytest.approx(0.8, abs=0.02)


def test_ends_can_be_spared() -> None:
    ids, lengths = captions(2000, 12)
    changed, kept = change_words(
        ids, lengths, AugmentRecipe(word_drop=0.5, include_ends=False), WORDS, rng()
    )
    assert (changed[:, 0] == 1).all()
    assert (changed[np.arange(2000), kept - 1] == 2).all()
    assert kept.min() < 8


def test_pieces_of_a_word_share_their_fate() -> None:
    ids, lengths = captions(3000, 9)
    joined = np.tile([False, False, True, True, False, False, True, False, False], (3000, 1))
    changed, kept = change_words(ids, lengths, AugmentRecipe(word_drop=0.4), WORDS, rng(), joined)
    for pieces in ({11, 12, 13}, {15, 16}):
        there = np.isin(changed, list(pieces)).sum(1)
        assert set(there) == {0, len(pieces)}
    whole = change_words(ids, lengths, AugmentRecipe(word_drop=0.4), WORDS, rng())
    assert set(np.isin(whole[0], [11, 12, 13]).sum(1)) == {0, 1, 2, 3}
    assert kept.mean() == pytest.approx(9 * (1 - 0.4 * 0.4), abs=0.1)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(0, 0.99), st.integers(0, 2**32)
)
def test_order_is_kept_and_nothing_is_emptied(lengths: list[int], rate: float, seed: int) -> None:
    size = np.array(lengths)
    keep = keep_vectors(size, AugmentRecipe(vector_drop=rate), rng(seed))
    order, kept = compact(keep)
    recipe = AugmentRecipe(word_drop=rate, mask_share=0, replace_share=0)
    ids = np.tile(np.arange(10, 10 + size.max()), (len(size), 1))
    changed, left = change_words(ids, size, recipe, WORDS, rng(seed))
    for row, length in enumerate(lengths):
        assert order[row, : kept[row]].tolist() == np.flatnonzero(keep[row]).tolist()
        assert 1 <= kept[row] <= length
        stayed = changed[row, : left[row]].tolist()
        assert 1 <= len(stayed) <= length
        assert stayed == sorted(set(stayed) & set(range(10, 10 + length)))


def test_images_lose_vectors_and_global_ones_stay() -> None:
    changes = ["image.feature=imported/toy", "augment.vector_drop=0.5"]
    recipe = load_recipe("vsepp", parse_overrides(changes))
    embedder = TableEmbedder(recipe, {"": Vocabulary(["a"])})
    augmenter = Augmenter(recipe, embedder, planted_data(1, {"en": 1}))
    vectors = torch.arange(24.0).view(4, 6, 1)
    found, lengths = augmenter.images(3, 0, (vectors, torch.tensor([6, 2, 1, 4])))
    assert found.shape == (4, int(lengths.max()), 1)
    for row, length in enumerate(lengths.tolist()):
        values = found[row, :length, 0].tolist()
        assert values == sorted(set(values) & set(vectors[row, :, 0].tolist()))
    again = augmenter.images(3, 0, (vectors, torch.tensor([6, 2, 1, 4])))
    assert torch.equal(found, again[0])
    other = augmenter.images(4, 0, (vectors, torch.tensor([6, 2, 1, 4])))
    assert not torch.equal(lengths, other[1]) or not torch.equal(found, other[0])
    (alone,) = augmenter.images(3, 0, (vectors[:, 0],))
    assert torch.equal(alone, vectors[:, 0])


def test_the_mask_is_behind_the_words_and_only_where_it_is_used() -> None:
    words, small = Vocabulary(["a", "dog"]), {"joint.dim": 8, "text.encoder.hidden": 8}
    recipes = [load_recipe("vsepp", {**small, "augment.word_drop": rate}) for rate in (0.0, 0.2)]
    plain, masked = (
        Model(recipe, TableEmbedder(recipe, {"": words}), 4, ["en"]) for recipe in recipes
    )
    assert len(plain.network.text.words.weight) == len(words)
    assert len(masked.network.text.words.weight) == len(words) + 1
    assert masked.embedder.substitutes("en").mask == len(words)
    assert masked.embedder.substitutes("en").words.tolist() == [4, 5]


def test_evaluation_is_untouched(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy", form="set")
    model = run(toy, tmp_path / "run", *FULL, "training.epochs=1").model
    model.network.train()
    np.testing.assert_array_equal(model.encode_text("red dog"), model.encode_text("red dog"))
    loaded = Model.load(tmp_path / "run")
    np.testing.assert_allclose(
        model.encode_text("red dog"), loaded.encode_text("red dog"), atol=1e-6
    )
    tokens = model.tokens(["red dog"], "en")
    assert tokens.ids.lengths.tolist() == [4]


def test_augmented_runs_learn_and_resume_to_the_same_bits(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy", form="set")
    length = "training.epochs=6"
    whole = run(toy, tmp_path / "whole", *FULL, length)
    assert whole.progress.evaluations[-1]["mr"]["en"] > 45
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *FULL, length, callbacks=stop_after(17))
    run(toy, tmp_path / "cut", *FULL, length, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_captions_are_changed_in_all_terms(toy: Path, tmp_path: Path) -> None:
    """c2c only: images are not looked at, and the augmentation still makes a difference."""
    tasks = ("sampling.kind=languages", "sampling.c2c=1", "training.epochs=1")
    run(toy, tmp_path / "plain", *tasks, "augment.word_drop=1e-9")
    run(toy, tmp_path / "augmented", *tasks, "augment.word_drop=0.2")
    run(toy, tmp_path / "images", *tasks, "augment.word_drop=1e-9", "augment.vector_drop=0.5")
    assert same(tmp_path / "plain", tmp_path / "images")
    first, second = (weights(tmp_path / name) for name in ("plain", "augmented"))
    assert not torch.equal(first["text.words.weight"], second["text.words.weight"])


def test_separate_towers_have_masks_of_their_own(toy: Path, tmp_path: Path) -> None:
    settings = ["sampling.kind=joint", "text.towers=per-language", "training.epochs=1"]
    model = run(toy, tmp_path / "run", *settings, "augment.word_drop=0.2").model
    for code in ("en", "de"):
        size = len(model.embedder.vocabulary(code))
        assert model.embedder.substitutes(code).mask == size
        assert len(model.network.text.of(code).words.weight) == size + 1


def test_shares_beyond_one_are_an_error() -> None:
    with pytest.raises(
        PolyglanceError, match=r"augment\.mask_share and replace_share must not exceed 1"
    ):
        load_recipe(
            "vsepp", parse_overrides(["augment.mask_share=0.9", "augment.replace_share=0.5"])
        )
