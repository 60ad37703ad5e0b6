"""Learning which latent token each word becomes (SMALR §3.1, spec §5.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.data.dataset import CaptionTable
from polyglance.digest import content_digest
from polyglance.files import atomic, cache_dir
from polyglance.models.similarity import l2
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.progress import Bar
from polyglance.recipes import Recipe
from polyglance.text import Ragged
from polyglance.text.vectors import WordVectors
from polyglance.training.language_vectors import load_array
from polyglance.training.tuples import Captioned, Tuples, TuplesFeed

VERSION = 1
"""Raised when assignments of an earlier version are not to be used any more."""
WORDS_AT_A_TIME = 4096


@dataclass(frozen=True)
class Assignment:
    """The token of every word, [n] by language, and the tokens' vectors [N, size]."""

    tokens: Mapping[str, np.ndarray]
    vectors: np.ndarray


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
        """The best tokens of words [u, dim], best first: [u, count]."""
        with torch.no_grad():
            scores = torch.addmm(self.bias[language], words, self.weight[language].t())
            return scores.topk(min(count, scores.shape[1]), dim=1).indices

    def embed(
        self, language: int, words: Tensor, explore: float, count: int, generator: torch.Generator
    ) -> Tensor:
        """Vectors [u, size] of the tokens of words [u, dim], straight through (spec §5.3).

        With the chance `explore` the token is any of the best `count`. The gradient reaches the
        layer through the token's share π of a softmax over these: e = E[a] (1 + π_a − |π_a|),
        where |π_a| is a constant. Only their scores are computed with a gradient.
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
    recipe: Recipe,
    vectors: Mapping[str, WordVectors],
    table: CaptionTable,
    tokens: Sequence[Sequence[str]],
    cache: Path | None,
    show_progress: bool | None,
) -> Assignment:
    """Learn tokens from which captions of one photograph have near averages; kept in the cache."""
    codes = sorted(vectors)
    starts = 1 + np.cumsum([0, *(len(vectors[code]) for code in codes)])
    offset = {code: int(start) for code, start in zip(codes, starts[:-1], strict=True)}
    ids = [
        [offset[code] + vectors[code].index[word] for word in words if word in vectors[code]]
        for words, code in zip(tokens, table.languages, strict=True)
    ]
    data = Captioned(Ragged.join([one or [0] for one in ids]), table.photo, table.languages)
    matrices = [torch.from_numpy(whitened(vectors[code].matrix)) for code in codes]
    path = cache_dir(cache) / "assignments" / f"{_key(recipe, data, matrices)}.npz"
    if (kept := load_array(path)) is not None:
        return Assignment({code: kept[code] for code in codes}, kept["vectors"])
    scores = _learn(recipe, data, matrices, starts, show_progress)
    found = {}
    for number, code in enumerate(codes):
        parts = [scores.best(number, part, 1) for part in matrices[number].split(WORDS_AT_A_TIME)]
        found[code] = torch.cat(parts).squeeze(1).numpy()
    result = Assignment(found, scores.vectors.detach().numpy())
    with atomic(path) as handle:
        arrays: dict[str, Any] = {"vectors": result.vectors, **found}
        np.savez(handle, **arrays)
    return result


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
    data: Captioned,
    matrices: Sequence[Tensor],
    starts: np.ndarray,
    show_progress: bool | None,
) -> TokenScores:
    universal = recipe.universal
    feed = TuplesFeed(recipe, data)
    # A generator of its own: the training that follows is the same if this is read from the cache.
    generator = torch.Generator().manual_seed(recipe.training.seed)
    tokens = min(universal.latent, int(starts[-1]) - 1)
    sizes = len(matrices), matrices[0].shape[1], tokens, recipe.text.words
    scores = TokenScores(*sizes, generator)
    optimizer = torch.optim.Adam(scores.parameters(), lr=universal.lr, fused=True)
    updates = universal.updates or universal.epochs * feed.updates_per_epoch
    with Bar("assigning words", updates, "updates", show_progress) as bar:
        for _, batch in zip(range(updates), feed.steps(0), strict=False):
            loss = _loss(scores, batch, data, matrices, starts, recipe, generator)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            bar.advance(note=f"loss {float(loss.detach()):.3f}")
    return scores


def _loss(
    scores: TokenScores,
    batch: Tuples,
    data: Captioned,
    matrices: Sequence[Tensor],
    starts: np.ndarray,
    recipe: Recipe,
    generator: torch.Generator,
) -> Tensor:
    """Of average token vectors; every distinct word of the batch is scored once."""
    universal = recipe.universal
    captions = batch.distinct(data.tokens)
    inside = np.arange(captions.ids.shape[1]) < captions.lengths[:, None]
    words, place = np.unique(captions.ids[inside], return_inverse=True)
    cuts = np.searchsorted(words, starts)
    parts = [
        scores.embed(
            number,
            matrices[number][torch.from_numpy(words[cuts[number] : cuts[number + 1]] - start)],
            universal.explore,
            universal.candidates,
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
    return same_language(laid, has, recipe.loss) + across_languages(laid, has, recipe.loss)


def _key(recipe: Recipe, data: Captioned, matrices: Sequence[Tensor]) -> str:
    universal = recipe.universal.model_dump(
        include={"latent", "explore", "candidates", "epochs", "updates", "lr"}
    )
    training = recipe.training.model_dump(include={"seed", "batch_size", "drop_last"})
    loss = recipe.loss.model_dump(include={"margin", "top", "distance"})
    size = recipe.text.words, recipe.constraints.captions
    settings = f"{VERSION} {universal} {training} {loss} {size} {data.languages}"
    arrays = (*data.tokens, data.photo, *(matrix.numpy() for matrix in matrices))
    return content_digest([settings, *arrays])[:24]
