"""Savings in SMALR's training from scoring a word once, and all languages together.

python benchmarks/smalr.py [--data DIR] [--batch 100] [--latent 4000] [--rounds 5]

A batch of images with two captions in every language, from DIR or ../shared/data/flickr8k-ml.
All variants are checked to give the same loss. Forward and backward, CPU time, one thread.
"""

import argparse
import time
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import torch
from timing import median_seconds, show
from torch import Tensor

from polyglance.data import load_dataset
from polyglance.models.networks.similarity import l2
from polyglance.numerics.ragged import Ragged
from polyglance.objectives.neighbourhood import across_languages
from polyglance.objectives.triplets import violations
from polyglance.recipes import Recipe, load_recipe
from polyglance.text.tokenizers import tokenize_many
from polyglance.training.assignment import LayerScores, NumberedWords
from polyglance.training.samplers import TupleBatch, TupleSampler

SHARED = Path(__file__).parents[2] / "shared" / "data" / "flickr8k-ml"


def read_batch(data: str, recipe: Recipe) -> tuple[TupleBatch, NumberedWords, dict[str, int]]:
    """The first batch, the captions, and the number of words of each language."""
    table = load_dataset(data).split("train").captions()
    words = tokenize_many(table.texts, table.languages)
    numbers: dict[tuple[str, str], int] = {}
    counts: dict[str, int] = {}
    for code in sorted(set(table.languages)):
        mine = (one for one, own in zip(words, table.languages, strict=True) if own == code)
        found = {word for one in mine for word in one}
        numbers |= {(code, word): len(numbers) + 1 + i for i, word in enumerate(sorted(found))}
        counts[code] = len(found)
    ids = [
        [numbers[code, word] for word in one] or [0]
        for one, code in zip(words, table.languages, strict=True)
    ]
    numbered = NumberedWords(Ragged.join(ids), table.image, table.languages)
    return next(iter(TupleSampler(recipe, numbered).batches(0))), numbered, counts


def pair_by_pair(sentences: Tensor, has: Tensor, recipe: Recipe) -> Tensor:
    """`across_languages`, one pair of languages at a time."""
    parts = [
        across_languages(sentences[[one, two]], has[[one, two]], recipe.loss)
        for one, two in combinations(range(len(sentences)), 2)
    ]
    return torch.stack(parts).mean()


def sentence_by_sentence(sentences: Tensor, has: Tensor, recipe: Recipe) -> Tensor:
    """`across_languages`, one anchor at a time."""
    totals = []
    for one, two in combinations(range(len(sentences)), 2):
        images = torch.nonzero(has[one] & has[two])[:, 0].tolist()
        values = []
        for image in images:
            other = has[two].clone()
            other[image] = False
            for anchor in sentences[one, image]:
                positive = (sentences[two, image] @ anchor).min()
                negatives = sentences[two][other].flatten(0, 1) @ anchor
                near = negatives.topk(min(recipe.loss.top, len(negatives))).values
                values.append(violations(positive, near, recipe.loss))
        totals.append(torch.stack(values).mean())
    return torch.stack(totals).mean()


def compare_losses(has: np.ndarray, recipe: Recipe, dim: int, rounds: int) -> None:
    """Neighbourhoods of sentences across languages."""
    generator = torch.Generator().manual_seed(0)
    laid = torch.randn(*has.shape, 2, dim, generator=generator)
    leaf, there = l2(laid).requires_grad_(), torch.from_numpy(has)
    ways: dict[str, Callable[[Tensor, Tensor, Recipe], Tensor]] = {
        "a language with all others": lambda *given: across_languages(*given[:2], recipe.loss),
        "a pair of languages": pair_by_pair,
        "a sentence": sentence_by_sentence,
    }
    losses = {name: way(leaf, there, recipe) for name, way in ways.items()}
    for loss in losses.values():
        torch.testing.assert_close(loss, next(iter(losses.values())), rtol=1e-4, atol=1e-6)

    def step(way: Callable[[Tensor, Tensor, Recipe], Tensor]) -> Callable[[], None]:
        return lambda: way(leaf, there, recipe).backward()

    steps = {name: step(way) for name, way in ways.items()}
    languages, images = has.shape
    title = f"neighbours across {languages} languages, {images} images, at a time:"
    show(title, median_seconds(steps, rounds, time.process_time))


def compare_scores(
    words: np.ndarray, counts: dict[str, int], latent: int, dim: int, rounds: int
) -> None:
    """Latent tokens of the words [n] of a batch: per distinct word, or per occurrence."""
    generator = torch.Generator().manual_seed(0)
    scores = LayerScores(len(counts), dim, latent, 128, generator)
    vectors = torch.randn(sum(counts.values()) + 1, dim, generator=generator)
    edges = torch.tensor([1, *np.cumsum(list(counts.values())) + 1])

    def loss(ids: Tensor, repeats: Tensor) -> Tensor:
        cuts = torch.searchsorted(ids, edges).tolist()
        total = []
        for language, (start, end) in enumerate(pairwise(cuts)):
            found = scores.embed(language, vectors[ids[start:end]], 0.0, 20, generator)
            total.append((found.square().sum(1) * repeats[start:end]).sum())
        return torch.stack(total).sum()

    every = torch.from_numpy(np.sort(words))
    distinct, repeats = torch.unique(every, return_counts=True)
    once = torch.ones(len(every))
    torch.testing.assert_close(loss(distinct, repeats), loss(every, once), rtol=1e-4, atol=1e-4)
    steps = {
        "each distinct word once": lambda: loss(distinct, repeats).backward(),
        "every occurrence": lambda: loss(every, once).backward(),
    }
    title = f"{latent} latent tokens scored for {len(every)} words, {len(distinct)} distinct:"
    show(title, median_seconds(steps, rounds, time.process_time))


def main() -> None:
    """Both comparisons on one batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=str(SHARED), help="dataset folder or table")
    parser.add_argument("--batch", type=int, default=100, help="images")
    parser.add_argument("--latent", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    recipe = load_recipe("smalr", {"training.batch_size": given.batch})
    batch, data, counts = read_batch(given.data, recipe)
    compare_losses(batch.has, recipe, 128, given.rounds)
    captions = batch.distinct(data.ids)
    inside = np.arange(captions.ids.shape[1]) < captions.lengths[:, None]
    compare_scores(captions.ids[inside], counts, given.latent, 100, given.rounds)


if __name__ == "__main__":
    main()
