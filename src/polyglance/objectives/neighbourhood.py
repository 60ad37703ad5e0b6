"""Neighbourhood losses: sentences about an image are close.

Wang et al. 2018, EmbN; MULE; SMALR, §3.3.
"""

import torch
from torch import Tensor

from polyglance.objectives.triplets import nearest_negatives, violations
from polyglance.recipes.schema import TripletsRecipe


def same_language(sentences: Tensor, has: Tensor, recipe: TripletsRecipe) -> Tensor:
    """Loss of sentences against those of the same language, averaged over languages.

    An anchor's positive is the farthest sentence of its image.

    Args:
        sentences: [L, B, k, D], k of each image in every language, normalised.
        has: [L, B] bool, which images have sentences of a language.
        recipe: of the triplets.

    >>> apart = torch.eye(2).view(1, 2, 1, 2).expand(1, 2, 2, 2)
    >>> recipe = TripletsRecipe(margin=1.5, distance="cosine")
    >>> float(same_language(apart, torch.ones(1, 2, dtype=torch.bool), recipe))
    0.5
    """
    parts = [
        _against(sentences[one], sentences[one : one + 1], has[one], has[one : one + 1], recipe)
        for one in range(len(sentences))
    ]
    return _mean(parts)


def across_languages(sentences: Tensor, has: Tensor, recipe: TripletsRecipe) -> Tensor:
    """Loss of sentences of one language against another, averaged over unordered language pairs.

    The anchors are from the first language; images without both languages do not count.

    Args:
        sentences: [L, B, k, D], k of each image in every language, normalised.
        has: [L, B] bool, which images have sentences of a language.
        recipe: of the triplets.

    >>> swapped = torch.stack([torch.eye(2), torch.eye(2).flip(0)]).unsqueeze(2)
    >>> recipe = TripletsRecipe(margin=0.5, distance="cosine")
    >>> float(across_languages(swapped, torch.ones(2, 2, dtype=torch.bool), recipe))
    1.5
    """
    parts = [
        _against(sentences[one], sentences[one + 1 :], has[one], has[one + 1 :], recipe)
        for one in range(len(sentences) - 1)
    ]
    return _mean(parts) if parts else sentences.new_zeros(())


def _against(
    anchors: Tensor, others: Tensor, has: Tensor, others_have: Tensor, recipe: TripletsRecipe
) -> tuple[Tensor, Tensor]:
    """Anchors [B, k, D] against R languages [R, B, k, D]: sum of the mean losses, and their count.

    One anchor language at a time halves the work and takes a fraction of the memory.
    """
    images, captions, _ = anchors.shape
    cosines = anchors @ others.flatten(0, 2).t()
    cosines = cosines.view(images, captions, -1, images, captions).permute(2, 0, 1, 3, 4)
    positive = cosines.diagonal(dim1=1, dim2=3).amin(2).transpose(1, 2)  # [R, B, k]
    other = ~torch.eye(images, dtype=torch.bool, device=anchors.device)
    negative = (other & others_have.unsqueeze(1)).repeat_interleave(captions, 2)  # [R, B, B·k]
    near = nearest_negatives(cosines.flatten(3), negative.unsqueeze(2), recipe.top)
    both = has & others_have
    values = (violations(positive, near, recipe) * both.unsqueeze(2)).sum((1, 2)) / captions
    count = both.sum(1)
    return (values / count.clamp(min=1)).sum(), (count > 0).sum()


def _mean(parts: list[tuple[Tensor, Tensor]]) -> Tensor:
    sums, counts = zip(*parts, strict=True)
    return torch.stack(sums).sum() / torch.stack(counts).sum().clamp(min=1)
