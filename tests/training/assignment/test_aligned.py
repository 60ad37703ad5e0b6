"""Tokens by keys that languages share: scores by hand, and a world of two languages."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data.dataset import CaptionTable
from polyglance.recipes import Recipe, load_recipe
from polyglance.text.embedders import TrainingTexts
from polyglance.text.embedders.base import TokenAssignment
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.training.assignment import KeyScores, assign_tokens, random_tokens
from polyglance.training.assignment.learn import initial_keys
from polyglance.training.assignment.scores import TEMPERATURE

THINGS = 60


def world(seed: int, cache: Path) -> tuple[dict[str, WordVectors], TrainingTexts]:
    """200 images of three things each, captions of both languages in their own order.

    Vectors are of one language each and say nothing of the other; a third of the images has no
    German caption.
    """
    generator = np.random.default_rng(seed)
    names = {code: [f"{code}{n}" for n in range(THINGS)] for code in ("de", "en")}
    vectors = {
        code: WordVectors(own, generator.normal(size=(THINGS, 6)).astype(np.float32))
        for code, own in names.items()
    }
    items = []
    for image in range(200):
        things = generator.choice(THINGS, 3, replace=False)
        captions = {"en": {"independent": [" ".join(names["en"][n] for n in things)]}}
        if image % 3:
            shuffled = generator.permutation(things)
            captions["de"] = {"independent": [" ".join(names["de"][n] for n in shuffled)]}
        items.append((image, captions))
    table = CaptionTable.collect(items)
    return vectors, TrainingTexts(table, [text.split() for text in table.texts], None, cache, False)


def latent(tokens: int = THINGS, **changes: object) -> Recipe:
    learned = (
        {} if changes.get("kind") == "random" else {"candidates": 4, "updates": 60, "lr": 0.01}
    )
    rare = {"tokens": tokens, "assignment": {**learned, **changes}}
    return load_recipe(
        "smalr-la",
        {"text.embedder": {"word_dim": 16, "rare": rare}, "training.batch_size": 40},
    )


def pairs_on_one(found: TokenAssignment) -> float:
    return float(np.mean(found.tokens["de"] == found.tokens["en"]))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_most_pairs_of_a_bilingual_world_share_a_token(
    seed: int, explore: float, tmp_path: Path
) -> None:
    vectors, texts = world(seed, tmp_path)
    found = assign_tokens(latent(explore=explore), vectors, texts)
    # One token for all would be no feat.
    assert len(np.unique(found.tokens["en"])) > 0.8 * THINGS
    assert pairs_on_one(found) > 0.8


@pytest.mark.parametrize("recipe", [latent(kind="paper", soft=0, warmup=0), latent(kind="random")])
def test_neither_the_papers_layers_nor_chance_do_that(recipe: Recipe, tmp_path: Path) -> None:
    vectors, texts = world(0, tmp_path)
    assert pairs_on_one(assign_tokens(recipe, vectors, texts)) < 0.2


def test_a_language_with_vectors_and_no_caption_moves_no_other(tmp_path: Path) -> None:
    vectors, texts = world(0, tmp_path)
    generator = np.random.default_rng(9)
    silent = WordVectors(["an", "bn"], generator.normal(size=(2, 6)).astype(np.float32))
    # Numbered by captions alone, English (0) and German (1) would stand for it and for German.
    found = assign_tokens(latent(), {"aa": silent, **vectors}, texts)
    assert found.tokens["aa"].shape == (2,)
    assert pairs_on_one(found) > 0.8


def test_aligned_vectors_of_the_user_are_asked_with_as_they_are(tmp_path: Path) -> None:
    vectors, texts = world(0, tmp_path)
    turned = WordVectors(vectors["de"].words, 3 * vectors["en"].matrix)
    one = latent(queries="vectors", updates=1, lr=1e-9)
    found = assign_tokens(one, {"de": turned, "en": vectors["en"]}, texts)
    assert pairs_on_one(found) == 1
    assert pairs_on_one(assign_tokens(one, vectors, texts)) < 0.2


def test_an_assignment_is_the_same_again_and_another_with_another_seed(tmp_path: Path) -> None:
    vectors, texts = world(0, tmp_path / "one")
    other = TrainingTexts(texts.captions, texts.words, None, tmp_path / "two", False)
    first, again = (assign_tokens(latent(), vectors, one) for one in (texts, other))
    assert np.array_equal(first.vectors, again.vectors)
    assert all(np.array_equal(first.tokens[code], again.tokens[code]) for code in first.tokens)
    seeded = load_recipe("smalr-la", {**latent().model_dump(include={"text"}), "training.seed": 1})
    assert not np.array_equal(assign_tokens(seeded, vectors, texts).vectors[:9], first.vectors[:9])


def scores() -> KeyScores:
    generator = torch.Generator().manual_seed(0)
    made = KeyScores(2, torch.randn(7, 5, generator=generator), 3, generator)
    with torch.no_grad():
        made.turns += 0.3 * torch.randn(2, 5, 5, generator=generator)
    return made


def by_hand(made: KeyScores, language: int, word: torch.Tensor) -> list[float]:
    query = word @ made.turns[language].detach()
    cosine = torch.nn.functional.cosine_similarity
    return [float(cosine(query, key, dim=0)) / TEMPERATURE for key in made.keys.detach()]


@given(st.integers(0, 1), st.integers(1, 5), st.integers(0, 99))
def test_scores_are_cosines_of_turned_words_with_keys(language: int, count: int, seed: int) -> None:
    made = scores()
    words = torch.randn(count, 5, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        everything = made.all_scores(language, words)
        tokens = torch.tensor([[3, 0, 6]] * count)
        some = made.scores_of(language, words, tokens)
        expected = torch.tensor([by_hand(made, language, word) for word in words])
    torch.testing.assert_close(everything, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(some, expected[:, [3, 0, 6]], atol=1e-4, rtol=1e-4)


def test_a_soft_word_is_the_mixture_of_its_best_tokens() -> None:
    made = scores()
    words = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    found = made.embed(1, words, 0.5, 3, torch.Generator(), soft=True)
    for word, vector in zip(words, found, strict=True):
        own = torch.tensor(by_hand(made, 1, word))
        best = own.topk(3).indices
        mixture = own[best].softmax(0) @ made.vectors[best]
        torch.testing.assert_close(vector, mixture, atol=1e-4, rtol=1e-4)
    found.sum().backward()
    assert made.keys.grad is not None
    assert made.turns.grad is not None
    assert bool(made.keys.grad.any())
    assert bool(made.turns.grad[1].any())
    assert not bool(made.turns.grad[0].any())


def test_a_word_begins_at_the_nearest_key_and_near_keys_have_near_vectors() -> None:
    keys = torch.eye(300)[:50]
    made = KeyScores(1, keys, 200, torch.Generator().manual_seed(0))
    noisy = keys + 0.02 * torch.randn(50, 300, generator=torch.Generator().manual_seed(1))
    assert made.best(0, noisy, 1).squeeze(1).tolist() == list(range(50))
    vectors = made.vectors.detach()
    for one, two in combinations(range(5), 2):
        assert abs(float(vectors[one] @ vectors[two])) < 0.3
        assert float(vectors[one] @ vectors[one]) == pytest.approx(1, abs=0.3)


def test_keys_are_words_of_the_pivot_then_the_farthest_of_the_others() -> None:
    one, two = torch.eye(4)[:2], torch.tensor([[0.9, 0.1, 0, 0], [0, 0, 0, 1.0], [0, 0.5, 0, 0.5]])
    assert initial_keys([two, one], 1, 1).tolist() == one[:1].tolist()
    assert initial_keys([two, one], 1, 2).tolist() == one.tolist()
    assert initial_keys([two, one], 1, 4)[2:].tolist() == two[[1, 2]].tolist()


def test_random_tokens_are_drawn_evenly_and_need_no_captions() -> None:
    found = random_tokens(latent(10, kind="random"), {"de": 500, "en": 1000})
    assert {code: len(own) for code, own in found.tokens.items()} == {"de": 500, "en": 1000}
    counts = np.bincount(np.concatenate([*found.tokens.values()]), minlength=10)
    assert counts.sum() == 1500
    assert counts.min() > 110
    assert found.vectors.shape == (10, 16)
    again = random_tokens(latent(10, kind="random"), {"de": 500, "en": 1000})
    assert np.array_equal(found.vectors, again.vectors)
    assert random_tokens(latent(10, kind="random"), {"de": 2, "en": 1}).vectors.shape == (3, 16)
