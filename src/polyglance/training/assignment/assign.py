"""The latent token of each word: learned before training, or drawn at random."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from polyglance.recipes.schema import RandomAssignment, Recipe, TupleSampling
from polyglance.storage.digest import content_digest
from polyglance.storage.files import atomic, cache_dir
from polyglance.text.embedders.base import TokenAssignment, TrainingTexts
from polyglance.text.vectors.trained import load_array
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.training.assignment.learn import settings_of, train_scores
from polyglance.training.assignment.words import NumberedWords, numbered, word_queries

VERSION = 3
"""Increased when cached assignments of an earlier version must not be used."""
WORDS_AT_A_TIME = 4096


def assign_tokens(
    recipe: Recipe, vectors: Mapping[str, WordVectors], texts: TrainingTexts
) -> TokenAssignment:
    """A token for every word; learned assignments are cached.

    Args:
        recipe: with an embedder that has latent tokens for rare words.
        vectors: word vectors of each language.
        texts: the training captions.
    """
    _, latent, _ = settings_of(recipe)
    codes = sorted(vectors)
    assignment = latent.assignment
    if isinstance(assignment, RandomAssignment):
        return random_tokens(recipe, {code: len(vectors[code]) for code in codes})
    starts = 1 + np.cumsum([0, *(len(vectors[code]) for code in codes)])
    data = numbered(vectors, texts.words, texts.captions)
    queries = word_queries(recipe, assignment, vectors, texts, data)
    matrices = {code: torch.from_numpy(part) for code, part in zip(codes, queries, strict=True)}
    path = (
        cache_dir(texts.cache)
        / "assignments"
        / f"{_key(recipe, data, list(matrices.values()))}.npz"
    )
    if (kept := load_array(path)) is not None:
        return TokenAssignment({code: kept[code] for code in codes}, kept["vectors"])
    scores = train_scores(recipe, data, matrices, starts, texts.show_progress)
    found = {}
    for number, code in enumerate(codes):
        parts = [scores.best(number, part, 1) for part in matrices[code].split(WORDS_AT_A_TIME)]
        found[code] = torch.cat(parts).squeeze(1).numpy()
    result = TokenAssignment(found, scores.vectors.detach().numpy())
    with atomic(path) as handle:
        arrays: dict[str, Any] = {"vectors": result.vectors, **found}
        np.savez(handle, **arrays)
    return result


def random_tokens(recipe: Recipe, words: Mapping[str, int]) -> TokenAssignment:
    """Random tokens with random vectors: the effect of sharing alone (a control).

    Args:
        recipe: with an embedder that has latent tokens for rare words.
        words: number of words of each language.
    """
    embedder, latent, _ = settings_of(recipe)
    generator = np.random.default_rng([recipe.training.seed, 0])
    tokens = min(latent.tokens, sum(words.values()))
    drawn = {code: generator.integers(tokens, size=count) for code, count in words.items()}
    vectors = generator.uniform(-0.1, 0.1, (tokens, embedder.word_dim)).astype(np.float32)
    return TokenAssignment(drawn, vectors)


def _key(recipe: Recipe, data: NumberedWords, matrices: Sequence[Tensor]) -> str:
    embedder, latent, loss = settings_of(recipe)
    training = recipe.training.model_dump(include={"seed", "batch_size", "drop_last"})
    triplets = loss.model_dump(include={"margin", "top", "distance"})
    sampling = recipe.sampling
    tuples = sampling if isinstance(sampling, TupleSampling) else TupleSampling()
    size = embedder.word_dim, tuples.captions, tuples.epoch
    settings = f"{VERSION} {latent.model_dump()} {training} {triplets} {size} {data.languages}"
    arrays = (data.ids.flat, data.ids.offsets, data.image, *(part.numpy() for part in matrices))
    return content_digest([settings, *arrays])[:24]
