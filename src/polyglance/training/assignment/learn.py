"""Learning token scores: captions of one image should have similar averages (SMALR, §3.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from polyglance.core.progress import Bar
from polyglance.models.networks.similarity import l2
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.recipes.schema import (
    LatentRare,
    LearnedAssignment,
    PaperAssignment,
    Recipe,
    TripletsRecipe,
    UniversalEmbedderRecipe,
)
from polyglance.training.assignment.scores import KeyScores, LayerScores, TokenScores
from polyglance.training.assignment.words import NumberedWords
from polyglance.training.samplers import TupleBatch, TupleSampler

KEYS_RATE = 0.1
"""Learning rate factor for keys and rotations, which start close to their optimum."""


def settings_of(recipe: Recipe) -> tuple[UniversalEmbedderRecipe, LatentRare, TripletsRecipe]:
    """Settings of the embedder, its latent tokens, and the loss they are learned with."""
    embedder, loss = recipe.text.embedder, recipe.loss
    assert isinstance(embedder, UniversalEmbedderRecipe)
    assert isinstance(embedder.rare, LatentRare)
    if not isinstance(loss, TripletsRecipe):
        loss = TripletsRecipe(margin=getattr(loss, "margin", 0.2))
    return embedder, embedder.rare, loss


def train_scores(
    recipe: Recipe,
    data: NumberedWords,
    matrices: Mapping[str, Tensor],
    starts: np.ndarray,
    show_progress: bool | None,
) -> TokenScores:
    """Scores whose best tokens bring captions of the same image together.

    Args:
        recipe: with an embedder that has latent tokens for rare words.
        data: the training captions.
        matrices: vectors [n, d] of the words of each language, in the order of their numbers.
        starts: number of each language's first word, and one past the last.
        show_progress: None shows a bar in a terminal.
    """
    _, latent, loss = settings_of(recipe)
    rules = latent.assignment
    assert isinstance(rules, LearnedAssignment)
    sampler = TupleSampler(recipe, data)
    # A separate generator: training is the same if this is read from the cache.
    generator = torch.Generator().manual_seed(recipe.training.seed)
    scores = initial_scores(recipe, data, matrices, generator)
    optimizer = torch.optim.Adam(_groups(scores, rules.lr), lr=rules.lr, fused=True)
    updates = rules.updates or rules.epochs * sampler.updates_per_epoch
    soft, warm = rules.soft * updates, rules.warmup * updates
    parts = list(matrices.values())
    with Bar("assigning words", updates, "updates", show_progress) as bar:
        for update, batch in zip(range(updates), sampler.batches(0), strict=False):
            top = batch.captions.size if update < warm else loss.top
            triplets = loss.model_copy(update={"top": top})
            value = _loss(
                scores, batch, data, parts, starts, rules, triplets, generator, update < soft
            )
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
            bar.advance(note=f"loss {float(value.detach()):.3f}")
    return scores


def initial_scores(
    recipe: Recipe,
    data: NumberedWords,
    matrices: Mapping[str, Tensor],
    generator: torch.Generator,
) -> TokenScores:
    """Initial scores.

    Args:
        recipe: with an embedder that has latent tokens for rare words.
        data: the training captions; tokens start at words of the language with most captions.
        matrices: vectors [n, d] of the words of each language; this order numbers the languages,
            whether or not they have captions.
        generator: for random weights.
    """
    embedder, latent, _ = settings_of(recipe)
    parts, captions = list(matrices.values()), Counter(data.languages)
    tokens = min(latent.tokens, sum(map(len, parts)))
    if isinstance(latent.assignment, PaperAssignment):
        dim = parts[0].shape[1]
        return LayerScores(len(parts), dim, tokens, embedder.word_dim, generator)
    counts = [captions[code] for code in matrices]
    keys = initial_keys(parts, counts.index(max(counts)), tokens)
    return KeyScores(len(parts), keys, embedder.word_dim, generator)


def initial_keys(matrices: Sequence[Tensor], pivot: int, tokens: int) -> Tensor:
    """Keys [N, d]: words of the pivot, the most frequent first, then the words farthest from them.

    A word of another language then starts at the token of the nearest word of the pivot, its
    likeliest translation; cluster centres would mostly belong to one language.

    Args:
        matrices: unit vectors [n, d] of the words of each language, the most frequent first.
        pivot: index of a language.
        tokens: N, at most the number of words.
    """
    own = matrices[pivot][:tokens]
    if len(own) == tokens:
        return own
    rest = torch.cat([part for number, part in enumerate(matrices) if number != pivot])
    near = torch.cat([(part @ own.t()).amax(1) for part in rest.split(4096)])
    return torch.cat([own, rest[near.argsort(stable=True)[: tokens - len(own)]]])


def _groups(scores: TokenScores, rate: float) -> list[dict[str, object]]:
    """Parameter groups with their learning rates."""
    slow = isinstance(scores, KeyScores)
    return [
        {"params": [own], "lr": rate * (KEYS_RATE if slow and name != "vectors" else 1)}
        for name, own in scores.named_parameters()
    ]


def _loss(
    scores: TokenScores,
    batch: TupleBatch,
    data: NumberedWords,
    matrices: Sequence[Tensor],
    starts: np.ndarray,
    rules: LearnedAssignment,
    triplets: TripletsRecipe,
    generator: torch.Generator,
    soft: bool,
) -> Tensor:
    """Loss of average token vectors; every distinct word of the batch is scored once."""
    captions = batch.distinct(data.ids)
    inside = np.arange(captions.ids.shape[1]) < captions.lengths[:, None]
    words, place = np.unique(captions.ids[inside], return_inverse=True)
    cuts = np.searchsorted(words, starts)
    parts = [
        scores.embed(
            number,
            matrices[number][torch.from_numpy(words[cuts[number] : cuts[number + 1]] - start)],
            rules.explore,
            rules.candidates,
            generator,
            soft,
        )
        for number, start in enumerate(starts[:-1])
    ]
    offsets = np.cumsum(captions.lengths) - captions.lengths
    flat, first = torch.from_numpy(place), torch.from_numpy(offsets)
    averages = l2(functional.embedding_bag(flat, torch.cat(parts), first, mode="mean"))
    empty = averages.new_zeros(1, averages.shape[1])
    laid = torch.cat([averages, empty])[torch.from_numpy(captions.places)]
    has = torch.from_numpy(batch.has)
    return same_language(laid, has, triplets) + across_languages(laid, has, triplets)
