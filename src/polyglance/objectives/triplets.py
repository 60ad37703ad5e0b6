"""Triplet losses: the N most violated per anchor (Wang et al. 2018, EmbN; MULE; SMALR, §3.3).

Hinges decrease with a negative's distance, so the N largest are those of the N nearest negatives.
"""

import torch
from torch import Tensor

from polyglance.objectives.objective import Objective, objectives
from polyglance.recipes.schema import TripletsRecipe

NONE = -1e4
"""Cosine assigned to non-negatives: so far away that the hinge is 0."""


def distance(cosines: Tensor, kind: str = "euclidean") -> Tensor:
    """√(2 − 2 cos + 1e-4), Euclidean between unit vectors, or 1 − cos.

    >>> distance(torch.tensor([1.0, 0.0, -1.0])).round(decimals=2).tolist()
    [0.009999999776482582, 1.409999966621399, 2.0]
    """
    return 1 - cosines if kind == "cosine" else (2 - 2 * cosines + 1e-4).sqrt()


def nearest_negatives(cosines: Tensor, negative: Tensor, top: int) -> Tensor:
    """The N largest cosines of negatives, [..., N], filled with `NONE` if there are fewer.

    Args:
        cosines: [..., C], of anchors with all candidates.
        negative: [..., C] bool, which candidates are negatives.
        top: N.

    >>> nearest_negatives(torch.tensor([0.5, 1.0, 0.25]), torch.tensor([True, False, True]), 1)
    tensor([0.5000])
    """
    masked = cosines.masked_fill(~negative, NONE)
    return masked.topk(min(top, cosines.shape[-1]), dim=-1, sorted=False).values


def violations(positive: Tensor, negatives: Tensor, recipe: TripletsRecipe) -> Tensor:
    """Mean hinge of each anchor, [...].

    Hinges of 0 count; with fewer than N negatives, it is the mean over those.

    Args:
        positive: [...], cosines of anchors with their positives.
        negatives: [..., N], cosines with their negatives, or `NONE`.
        recipe: distance and margin.

    >>> recipe = TripletsRecipe(margin=0.5, distance="cosine")
    >>> violations(torch.tensor([0.5]), torch.tensor([[0.5, -1.0]]), recipe)
    tensor([0.2500])
    """
    far, near = distance(positive, recipe.distance), distance(negatives, recipe.distance)
    hinges = (recipe.margin + far.unsqueeze(-1) - near).clamp(min=0)
    return hinges.sum(-1) / (negatives > NONE / 2).sum(-1).clamp(min=1)


def mean_by_language(values: Tensor, has: Tensor) -> Tensor:
    """Values [L, B, k] of images that have a language [L, B] → mean over L of the means.

    Languages without images do not count.

    >>> has = torch.tensor([[True, True], [True, False], [False, False]])
    >>> float(mean_by_language(torch.tensor([[[1.0], [3.0]], [[6.0], [9.0]], [[9.0], [9.0]]]), has))
    4.0
    """
    count = has.sum(1)
    sums = (values * has.unsqueeze(2)).sum((1, 2)) / values.shape[2]
    return (sums / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)


def match_images(
    sentences: Tensor, images: Tensor, has: Tensor, recipe: TripletsRecipe
) -> tuple[Tensor, Tensor]:
    """Sentences of every language against images, in both directions.

    Args:
        sentences: [L, B, k, D], k of each image in every language, normalised.
        images: [B, D], normalised, without duplicates.
        has: [L, B] bool, which images have sentences of a language.
        recipe: of the triplets.

    Returns:
        the loss, averaged over languages, and the cosines [L, B, k, B].

    >>> recipe = TripletsRecipe(margin=1.5, distance="cosine")
    >>> sentences, has = torch.eye(2).view(1, 2, 1, 2), torch.ones(1, 2, dtype=torch.bool)
    >>> float(match_images(sentences, torch.eye(2), has, recipe)[0])  # 0.5 · (1.5 + 1)
    1.25
    """
    cosines = sentences @ images.t()
    other = ~torch.eye(len(images), dtype=torch.bool, device=images.device)
    positive = cosines.diagonal(dim1=1, dim2=3).transpose(1, 2)  # [L, B, k]
    wrong_images = nearest_negatives(cosines, other.unsqueeze(1), recipe.top)
    by_sentence = violations(positive, wrong_images, recipe)
    of_image = cosines.permute(0, 3, 1, 2).flatten(2)  # [L, B, B·k]
    negative = (other & has.unsqueeze(1)).repeat_interleave(sentences.shape[2], 2)
    wrong_sentences = nearest_negatives(of_image, negative, recipe.top).unsqueeze(2)
    by_image = violations(positive, wrong_sentences, recipe)
    both = recipe.caption_weight * by_sentence + recipe.image_weight * by_image
    return mean_by_language(both, has), cosines


@objectives.register("triplets")
class Triplets(Objective):
    """EmbN's loss on one score matrix; the warm-up uses all negatives.

    >>> loss = Triplets(TripletsRecipe(margin=1.5, distance="cosine"))
    >>> float(loss(torch.eye(2), torch.arange(2)))  # 0.5 · (1.5 + 1)
    1.25
    """

    recipe: TripletsRecipe

    def loss(self, scores: Tensor, ignore: Tensor | None, warming_up: bool) -> Tensor:
        negative = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
        if ignore is not None:
            negative = negative & ~ignore
        top = len(scores) if warming_up else self.recipe.top
        sides = [(self.recipe.image_weight, scores), (self.recipe.caption_weight, scores.t())]
        terms = [
            weight
            * violations(side.diagonal(), nearest_negatives(side, negative, top), self.recipe)
            for weight, side in sides
        ]
        return torch.stack(terms).sum(0).mean()
