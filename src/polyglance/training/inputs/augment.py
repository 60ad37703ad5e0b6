"""Size augmentation: dropping vectors and words in training (VSE∞, supplement §2.1)."""

import numpy as np
import torch
from torch import Tensor

from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import AugmentRecipe, Recipe
from polyglance.text.embedders import Embedder, Substitutes, TextBatch
from polyglance.training.inputs.data import TrainingData

VARYING_FROM = 0.2
"""With `varying`, nothing is dropped from an image with r ~ U(0, 1) up to this."""

STREAM = 1000
"""Distinct from the streams of training/samplers: three for every term of an update."""


def keep_vectors(
    lengths: np.ndarray, recipe: AugmentRecipe, generator: np.random.Generator
) -> np.ndarray:
    """Which vectors of sets to keep: [B, K] bool, at least one of each.

    Each is dropped with probability `vector_drop`; with `varying` this is scaled by an
    r ~ U(0, 1) per image, and 0 for r ≤ 0.2, so that ∫ 0.2 r dr = 9.6 % are dropped on average.

    Args:
        lengths: [B] ≥ 1, of the sets.
        recipe: of the augmentation.
        generator: random generator.
    """
    inside = np.arange(int(lengths.max())) < lengths[:, None]
    rate = np.full((len(lengths), 1), recipe.vector_drop)
    if recipe.varying:
        scale = generator.random((len(lengths), 1))
        rate *= np.where(scale > VARYING_FROM, scale, 0.0)
    return _keep(inside, generator.random(inside.shape), rate)


def change_words(
    ids: np.ndarray,
    lengths: np.ndarray,
    recipe: AugmentRecipe,
    substitutes: Substitutes,
    generator: np.random.Generator,
    continues: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ids with words masked, replaced and deleted, [B, T'], and their lengths [B].

    A word is selected with probability `word_drop`; of the selected, the share `mask_share` is
    masked, the share `replace_share` replaced by a random word, and the rest deleted, but never a
    whole caption.

    Args:
        ids: [B, T], of captions.
        lengths: [B] ≥ 1, of the captions.
        recipe: of the augmentation.
        substitutes: the mask, the words that may replace others, and the ends.
        generator: random generator.
        continues: [B, T] bool, ids that belong to the same word as the one before: subwords of a
            word are all masked, each replaced, or all deleted.
    """
    inside = np.arange(ids.shape[1]) < lengths[:, None]
    draw = generator.random(ids.shape)
    other = substitutes.words[generator.integers(len(substitutes.words), size=ids.shape)]
    if continues is not None:
        first = np.maximum.accumulate(np.where(continues, 0, np.arange(ids.shape[1])), 1)
        draw = np.take_along_axis(draw, first, 1)
    if not recipe.include_ends:
        draw[np.isin(ids, substitutes.ends)] = 1.0
    masked = recipe.word_drop * recipe.mask_share
    changed = recipe.word_drop * (recipe.mask_share + recipe.replace_share)
    result = np.where(draw < changed, other, ids)
    result[draw < masked] = substitutes.mask
    keep = _keep(inside, np.where(draw < changed, 1.0, draw), recipe.word_drop)
    order, kept = compact(keep)
    result = np.take_along_axis(result, order, 1)
    result[np.arange(order.shape[1]) >= kept[:, None]] = 0
    return result, kept


def compact(keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """keep [B, K] bool → indices of the kept ones [B, K'], in order, and their number [B]."""
    kept = keep.sum(1)
    return np.argsort(~keep, axis=1, kind="stable")[:, : kept.max()], kept


def _keep(inside: np.ndarray, draw: np.ndarray, rate: np.ndarray | float) -> np.ndarray:
    """Keep what is drawn at `rate` or above; if nothing is, keep the highest draw."""
    draw = np.where(inside, draw, -1.0)
    keep = draw >= rate
    keep[np.arange(len(keep)), draw.argmax(1)] = True
    return keep & inside


class Augmenter:
    """The augmentation of a recipe, determined by the seed, the update and the stream.

    Args:
        recipe: of the whole model.
        embedder: says which ids of a text may be dropped, and what replaces them.
        data: the training captions, as ids.
    """

    def __init__(self, recipe: Recipe, embedder: Embedder, data: TrainingData) -> None:
        self.recipe, self.seed = recipe.augment, recipe.training.seed
        self.embedder, self.data = embedder, data

    def images(
        self,
        update: int,
        stream: int,
        parts: tuple[Tensor, ...],
        every: np.ndarray | None = None,
        part: slice = slice(None),
    ) -> tuple[Tensor, ...]:
        """Images without some of their vectors, ([B, K', F], lengths [B]).

        Args:
            update: number of the update.
            stream: part of the update with random numbers of its own.
            parts: ([B, K, F], lengths [B]); ([B, F],) is returned unchanged.
            every: lengths of the whole batch, if `parts` are a share of it.
            part: the share; random numbers are drawn for the whole batch.
        """
        if not self.recipe.vector_drop or len(parts) == 1:
            return parts
        vectors, lengths = parts
        whole = lengths.numpy() if every is None else every
        order, kept = self.kept_vectors(update, stream, whole, part, vectors.shape[1])
        # Copying rows by a flat index is twice as fast as by two indices.
        rows = order + torch.arange(len(order)).unsqueeze(1) * vectors.shape[1]
        return vectors.flatten(0, 1).index_select(0, rows.flatten()).unflatten(0, rows.shape), kept

    def kept_vectors(
        self, update: int, stream: int, lengths: np.ndarray, part: slice, longest: int
    ) -> tuple[Tensor, Tensor]:
        """Which vectors of sets to keep: indices [b, K'], in order, and their number [b].

        Args:
            update: number of the update.
            stream: part of the update with random numbers of its own.
            lengths: [B] ≥ 1, of the sets of the whole batch.
            part: b of them.
            longest: of these.
        """
        if self.recipe.vector_drop:
            keep = keep_vectors(lengths, self.recipe, self._generator(update, stream))[part]
        else:
            keep = (np.arange(longest) < lengths[:, None])[part]
        order, kept = compact(keep[:, :longest])
        return torch.from_numpy(order), torch.from_numpy(kept)

    def captions(
        self, update: int, stream: int, rows: np.ndarray, language: str | None
    ) -> TextBatch:
        """Captions of a language, with some of their words changed.

        Args:
            update: number of the update.
            stream: part of the update with random numbers of its own.
            rows: [B], the captions.
            language: of the replacements.
        """
        ids, lengths = self.data.ids.pad(rows)
        if self.recipe.word_drop:
            substitutes, continues = self.embedder.substitutes(language), None
            if self.data.continues is not None:
                marks = Ragged(self.data.continues, self.data.ids.offsets)
                continues = marks.pad(rows)[0].astype(bool)
            generator = self._generator(update, stream)
            ids, lengths = change_words(
                ids, lengths, self.recipe, substitutes, generator, continues
            )
        return TextBatch(torch.from_numpy(ids), torch.from_numpy(lengths), self.data.unseen)

    def _generator(self, update: int, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, update, STREAM + stream])
