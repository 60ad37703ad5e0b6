"""Latent tokens: scores and their straight-through gradient, and tokens that captions teach."""

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
from polyglance.training.assignment import LayerScores, assign_tokens, whitened


def scores(tokens: int = 7, seed: int = 0) -> LayerScores:
    made = LayerScores(2, 5, tokens, 3, torch.Generator().manual_seed(seed))
    torch.nn.init.normal_(made.bias)
    return made


def words(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(100 + seed))


@given(st.integers(0, 1), st.integers(1, 6), st.integers(1, 10), st.integers(0, 99))
def test_the_best_tokens_are_those_of_sorting(
    language: int, count: int, wanted: int, seed: int
) -> None:
    made, vectors = scores(seed=seed), words(count, seed)
    found = made.best(language, vectors, wanted)
    assert found.shape == (count, min(wanted, 7))
    for word, best in zip(vectors, found.tolist(), strict=True):
        own = (made.weight[language] @ word + made.bias[language]).tolist()
        assert best == sorted(range(7), key=lambda token: -own[token])[: len(best)]


def test_a_word_is_its_best_tokens_vector_and_its_gradient_goes_straight_through() -> None:
    made, vectors = scores(), words(4)
    generator = torch.Generator().manual_seed(0)
    found = made.embed(1, vectors, explore=0.0, count=3, generator=generator)
    best = made.best(1, vectors, 3)
    torch.testing.assert_close(found, made.vectors[best[:, 0]])
    out = torch.randn(4, 3)
    (found * out).sum().backward()
    # By hand: d e/d s = E[a] · ∂π_a/∂s, and d e/d E[a] = 1.
    weight, tokens = torch.zeros_like(made.weight), torch.zeros_like(made.vectors)
    for word, own, of in zip(vectors, best, out, strict=True):
        values = made.weight[1][own] @ word + made.bias[1][own]
        share = values.detach().softmax(0)
        back = float(of @ made.vectors[own[0]].detach())
        for place, token in enumerate(own.tolist()):
            slope = share[0] * (float(place == 0) - share[place])
            weight[1, token] += back * slope * word
        tokens[own[0]] += of
    torch.testing.assert_close(made.weight.grad, weight)
    torch.testing.assert_close(made.vectors.grad, tokens)


@pytest.mark.parametrize("explore", [0.0, 0.4, 1.0])
def test_exploring_takes_any_of_the_best_as_often_as_asked(explore: float) -> None:
    made, vectors = scores(), words(1).expand(6000, 5)
    found = made.embed(0, vectors, explore, 3, torch.Generator().manual_seed(1)).detach()
    best = made.best(0, vectors[:1], 3)[0].tolist()
    chosen = torch.cdist(found, made.vectors.detach()).argmin(1)
    shares = [float((chosen == token).float().mean()) for token in best]
    assert sum(shares) == pytest.approx(1)
    for place, share in enumerate(shares):
        assert share == pytest.approx(explore / 3 + (1 - explore) * (place == 0), abs=0.03)


def planted(seed: int, cache: Path, known: int = 8) -> tuple[dict[str, WordVectors], TrainingTexts]:
    """Captions of 60 images: word n of either language is of images that show thing n."""
    generator = np.random.default_rng(seed)
    names = {code: [f"{code}{n}" for n in range(known)] for code in ("de", "en")}
    vectors = {
        code: WordVectors(own, generator.normal(size=(known, 6)).astype(np.float32))
        for code, own in names.items()
    }
    items = []
    for image in range(60):
        things = generator.choice(known, 2, replace=False)
        captions = {
            code: {"independent": [" ".join(own[n] for n in things)] * 2}
            for code, own in names.items()
        }
        items.append((image, captions))
    table = CaptionTable.collect(items)
    return vectors, TrainingTexts(table, [text.split() for text in table.texts], None, cache, False)


def latent(tokens: int = 8, **changes: object) -> Recipe:
    fields = {"kind": "paper", "candidates": 4, "updates": 300, "lr": 0.02}
    return load_recipe(
        "smalr",
        {
            "sampling.epoch": "images",
            "loss.distance": "euclidean",
            "text.embedder.word_dim": 8,
            "training.batch_size": 20,
            "text.embedder.rare": {"tokens": tokens, "assignment": {**fields, **changes}},
        },
    )


def equal(a: TokenAssignment, b: TokenAssignment) -> bool:
    return np.array_equal(a.vectors, b.vectors) and all(
        np.array_equal(a.tokens[code], b.tokens[code]) for code in a.tokens
    )


def found_by_tokens(found: TokenAssignment, texts: TrainingTexts) -> float:
    """The share of German captions that are nearest to an English one that says the same."""
    averages: dict[str, list[np.ndarray]] = {"de": [], "en": []}
    said: dict[str, list[list[int]]] = {"de": [], "en": []}
    for own, code in zip(texts.words, texts.captions.languages, strict=True):
        things = sorted(int(word[2:]) for word in own)
        mean = found.vectors[found.tokens[code][things]].mean(0)
        averages[code].append(mean / np.linalg.norm(mean))
        said[code].append(things)
    best = np.argmax(np.array(averages["de"]) @ np.array(averages["en"]).T, axis=1)
    return float(np.mean([said["de"][i] == said["en"][j] for i, j in enumerate(best)]))


def test_captions_of_an_image_get_near_averages(tmp_path: Path) -> None:
    vectors, texts = planted(0, tmp_path)
    found = assign_tokens(latent(), vectors, texts)
    assert set(found.tokens) == {"de", "en"}
    assert found.vectors.shape == (8, 8)
    for own in found.tokens.values():
        assert own.shape == (8,)
        assert 0 <= own.min() <= own.max() < 8
    begun = assign_tokens(latent(updates=1, lr=1e-9), vectors, texts)
    # There are 28 things that a caption can say.
    assert found_by_tokens(found, texts) > found_by_tokens(begun, texts) + 0.2


def test_an_assignment_is_kept_and_learned_again_where_anything_differs(tmp_path: Path) -> None:
    vectors, texts = planted(0, tmp_path)
    recipe = latent(updates=5)
    first = assign_tokens(recipe, vectors, texts)
    (kept,) = (tmp_path / "assignments").iterdir()
    written = kept.stat().st_mtime_ns
    torch.manual_seed(123)
    assert equal(assign_tokens(recipe, vectors, texts), first)
    assert kept.stat().st_mtime_ns == written
    others = [
        (latent(updates=6), vectors, texts),
        (recipe.model_copy(update={"training": recipe.training.model_copy(update={"seed": 1})}),
         vectors, texts),
        (recipe, *planted(1, tmp_path)),
    ]  # fmt: skip
    for number, other in enumerate(others, 2):
        assert not equal(assign_tokens(*other), first)
        assert len(list((tmp_path / "assignments").iterdir())) == number


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", None])
def test_a_damaged_one_is_learned_again(tmp_path: Path, damage: bytes | None) -> None:
    vectors, texts = planted(0, tmp_path)
    first = assign_tokens(latent(updates=5), vectors, texts)
    (kept,) = (tmp_path / "assignments").iterdir()
    kept.write_bytes(kept.read_bytes()[:-100] if damage is None else damage)
    assert equal(assign_tokens(latent(updates=5), vectors, texts), first)


def test_learning_leaves_torchs_own_generator_alone(tmp_path: Path) -> None:
    vectors, texts = planted(0, tmp_path)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    assign_tokens(latent(updates=5), vectors, texts)
    assert torch.equal(torch.get_rng_state(), state)


def test_captions_without_a_known_word_and_more_tokens_than_words(tmp_path: Path) -> None:
    vectors, texts = planted(0, tmp_path)
    few = {code: WordVectors(own.words[:2], own.matrix[:2]) for code, own in vectors.items()}
    found = assign_tokens(latent(updates=5, tokens=40), few, texts)
    assert found.vectors.shape == (4, 8)


def test_whitened_vectors_have_no_strong_direction() -> None:
    generator = np.random.default_rng(0)
    skewed = generator.normal(size=(200, 6)) @ generator.normal(size=(6, 6)) * 5 + 3
    white = whitened(skewed.astype(np.float32))
    np.testing.assert_allclose(white.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(6), atol=1e-3)
    # Of one word, or of words all alike, nothing is made up.
    assert not whitened(np.ones((1, 4), np.float32)).any()
    flat = np.zeros((50, 3), np.float32)
    flat[:, 0] = generator.normal(size=50)
    assert (np.sort(whitened(flat).std(0)) < [1e-3, 1e-3, 1.01]).all()
