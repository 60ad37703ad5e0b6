"""Learning which latent token each word becomes (Burns et al. 2020, SMALR, §3.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.digest import content_digest
from polyglance.files import atomic, cache_dir
from polyglance.models.similarity import l2
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.progress import Bar
from polyglance.ragged import Ragged
from polyglance.recipes.schema import (
    LatentRare,
    Recipe,
    TripletsRecipe,
    TupleSampling,
    UniversalEmbedderRecipe,
)
from polyglance.text.embedders.base import TokenAssignment, TrainingTexts
from polyglance.text.vectors.trained import load_array
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.training.samplers import TupleBatch, TupleSampler

VERSION = 2
"""Raised when assignments of an earlier version are not to be used any more."""
WORDS_AT_A_TIME = 4096


class NumberedWords(NamedTuple):
    """Captions whose words are numbered through all languages from 1; 0 is a caption of none."""

    ids: Ragged
    image: np.ndarray
    languages: list[str]
    empty: int = 0

    @property
    def grounded(self) -> int:
        """Captions that have images: all."""
        return len(self.image)


class TokenScores(nn.Module):
    """A layer of each language from word vectors to scores of tokens, and the tokens' vectors."""

    def __init__(
        self, languages: int, dim: int, tokens: int, size: int, generator: torch.Generator
    ) -> None:
        super().__init__()

        def uniform(bound: float, *shape: int) -> nn.Parameter:
            return nn.Parameter(bound * (2 * torch.rand(*shape, generator=generator) - 1))

        self.weight = uniform(dim**-0.5, languages, tokens, dim)
        self.bias = nn.Parameter(torch.zeros(languages, tokens))
        self.vectors = uniform(0.1, tokens, size)

    def best(self, language: int, words: Tensor, count: int) -> Tensor:
        """The best tokens of words, best first: [u, count].

        Args:
            language: number of the language.
            words: [u, dim], word vectors.
            count: tokens of each word.
        """
        with torch.no_grad():
            scores = torch.addmm(self.bias[language], words, self.weight[language].t())
            return scores.topk(min(count, scores.shape[1]), dim=1).indices

    def embed(
        self, language: int, words: Tensor, explore: float, count: int, generator: torch.Generator
    ) -> Tensor:
        """Vectors [u, size] of the tokens of words, straight through (SMALR, §3.1).

        The gradient reaches the layer through the token's share π of a softmax over the best:
        e = E[a] (1 + π_a − |π_a|), where |π_a| is a constant. Only their scores are computed with a
        gradient.

        Args:
            language: number of the language.
            words: [u, dim], word vectors.
            explore: chance that the token is any of the best instead of the first.
            count: how many the best are.
            generator: of the draws.
        """
        best = self.best(language, words, count)
        scores = (self.weight[language][best] @ words.unsqueeze(2)).squeeze(2)
        shares = (scores + self.bias[language][best]).softmax(1)
        other = torch.randint(best.shape[1], (len(best), 1), generator=generator)
        explored = torch.rand(len(best), 1, generator=generator) < explore
        place = torch.where(explored, other, 0)
        share = shares.gather(1, place)
        return self.vectors[best.gather(1, place).squeeze(1)] * (1 + share - share.detach())


def assign_tokens(
    recipe: Recipe, vectors: Mapping[str, WordVectors], texts: TrainingTexts
) -> TokenAssignment:
    """Learn tokens from which captions of one image have near averages; kept in the cache.

    Args:
        recipe: with an embedder whose rare words are latent.
        vectors: of the words of each language.
        texts: the training captions.
    """
    codes = sorted(vectors)
    starts = 1 + np.cumsum([0, *(len(vectors[code]) for code in codes)])
    offset = {code: int(start) for code, start in zip(codes, starts[:-1], strict=True)}
    ids = [
        [offset[code] + vectors[code].index[word] for word in words if word in vectors[code]]
        for words, code in zip(texts.words, texts.captions.languages, strict=True)
    ]
    joined = Ragged.join([one or [0] for one in ids])
    data = NumberedWords(joined, texts.captions.image, texts.captions.languages)
    matrices = [torch.from_numpy(whitened(vectors[code].matrix)) for code in codes]
    path = cache_dir(texts.cache) / "assignments" / f"{_key(recipe, data, matrices)}.npz"
    if (kept := load_array(path)) is not None:
        return TokenAssignment({code: kept[code] for code in codes}, kept["vectors"])
    scores = _learn(recipe, data, matrices, starts, texts.show_progress)
    found = {}
    for number, code in enumerate(codes):
        parts = [scores.best(number, part, 1) for part in matrices[number].split(WORDS_AT_A_TIME)]
        found[code] = torch.cat(parts).squeeze(1).numpy()
    result = TokenAssignment(found, scores.vectors.detach().numpy())
    with atomic(path) as handle:
        arrays: dict[str, Any] = {"vectors": result.vectors, **found}
        np.savez(handle, **arrays)
    return result


def _settings(recipe: Recipe) -> tuple[UniversalEmbedderRecipe, LatentRare, TripletsRecipe]:
    """Of the embedder, of its latent tokens, and of the loss that they are learned with."""
    embedder, loss = recipe.text.embedder, recipe.loss
    assert isinstance(embedder, UniversalEmbedderRecipe)
    assert isinstance(embedder.rare, LatentRare)
    if not isinstance(loss, TripletsRecipe):
        loss = TripletsRecipe(margin=getattr(loss, "margin", 0.2))
    return embedder, embedder.rare, loss


def whitened(matrix: np.ndarray) -> np.ndarray:
    """Vectors [n, d] around 0 with deviation 1 in every direction, float32 [n, d].

    Otherwise a few strong directions, such as a word's frequency, decide, and most words of a
    language with little text end at a handful of tokens. Directions with less than 1e-4 of the
    strongest one's variance are noise and stay weak.
    """
    centred = matrix.astype(np.float64) - matrix.mean(0, dtype=np.float64)
    values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    floor = max(float(values[-1]) * 1e-4, 1e-12)
    return (centred @ directions / np.sqrt(values.clip(min=floor))).astype(np.float32)


def _learn(
    recipe: Recipe,
    data: NumberedWords,
    matrices: Sequence[Tensor],
    starts: np.ndarray,
    show_progress: bool | None,
) -> TokenScores:
    embedder, latent, _ = _settings(recipe)
    sampler = TupleSampler(recipe, data)
    # A generator of its own: the training that follows is the same if this is read from the cache.
    generator = torch.Generator().manual_seed(recipe.training.seed)
    tokens = min(latent.tokens, int(starts[-1]) - 1)
    sizes = len(matrices), matrices[0].shape[1], tokens, embedder.word_dim
    scores = TokenScores(*sizes, generator)
    optimizer = torch.optim.Adam(scores.parameters(), lr=latent.lr, fused=True)
    updates = latent.updates or latent.epochs * sampler.updates_per_epoch
    with Bar("assigning words", updates, "updates", show_progress) as bar:
        for _, batch in zip(range(updates), sampler.batches(0), strict=False):
            loss = _loss(scores, batch, data, matrices, starts, recipe, generator)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            bar.advance(note=f"loss {float(loss.detach()):.3f}")
    return scores


def _loss(
    scores: TokenScores,
    batch: TupleBatch,
    data: NumberedWords,
    matrices: Sequence[Tensor],
    starts: np.ndarray,
    recipe: Recipe,
    generator: torch.Generator,
) -> Tensor:
    """Of average token vectors; every distinct word of the batch is scored once."""
    _, latent, triplets = _settings(recipe)
    captions = batch.distinct(data.ids)
    inside = np.arange(captions.ids.shape[1]) < captions.lengths[:, None]
    words, place = np.unique(captions.ids[inside], return_inverse=True)
    cuts = np.searchsorted(words, starts)
    parts = [
        scores.embed(
            number,
            matrices[number][torch.from_numpy(words[cuts[number] : cuts[number + 1]] - start)],
            latent.explore,
            latent.candidates,
            generator,
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


def _key(recipe: Recipe, data: NumberedWords, matrices: Sequence[Tensor]) -> str:
    embedder, latent, loss = _settings(recipe)
    training = recipe.training.model_dump(include={"seed", "batch_size", "drop_last"})
    triplets = loss.model_dump(include={"margin", "top", "distance"})
    sampling = recipe.sampling
    captions = sampling.captions if isinstance(sampling, TupleSampling) else 0
    size = embedder.word_dim, captions
    settings = f"{VERSION} {latent.model_dump()} {training} {triplets} {size} {data.languages}"
    arrays = (data.ids.flat, data.ids.offsets, data.image, *(part.numpy() for part in matrices))
    return content_digest([settings, *arrays])[:24]
