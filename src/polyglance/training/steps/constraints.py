"""Adversary, masked-word predictors and anchors for training on tuples (MULE, SMALR)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyglance.objectives.adversary import LanguageClassifier
from polyglance.objectives.masked import PairPredictor
from polyglance.recipes.schema import Recipe, TupleSampling
from polyglance.text.embedders import WordLayer


class TupleEmbeddings(NamedTuple):
    """Embeddings [L, B, k, D] and average word vectors [L, B, k, W]; 0 if there is none."""

    embeddings: Tensor
    averages: Tensor


class Anchors(nn.Module):
    """½‖W − W₀‖² of every language's own word vectors, to keep them close to the initial W₀.

    The authors' code uses those of the previous epoch instead: `refresh`.
    """

    def __init__(self, layers: Sequence[WordLayer]) -> None:
        super().__init__()
        self._layers = list(layers)
        for number, table in enumerate(self._tables()):
            self.register_buffer(f"table_{number}", table.detach().clone())

    def refresh(self) -> None:
        """Set the anchors to the current vectors."""
        for held, table in zip(self.buffers(), self._tables(), strict=True):
            held.copy_(table.detach())

    def forward(self) -> Tensor:
        """Mean over the languages."""
        pairs = zip(self._tables(), self.buffers(), strict=True)
        return torch.stack([(table - held).pow(2).sum() / 2 for table, held in pairs]).mean()

    def _tables(self) -> list[Tensor]:
        return [table for layer in self._layers for table in layer.own_tables()]


class Constraints(nn.Module):
    """The adversary, masked-word predictors and anchors that a recipe has.

    With one language there is neither adversary nor predictor.

    Args:
        recipe: with tuple sampling.
        layers: the word layers.
        languages: number of languages.
    """

    def __init__(self, recipe: Recipe, layers: Sequence[WordLayer], languages: int) -> None:
        super().__init__()
        rules = recipe.sampling
        assert isinstance(rules, TupleSampling)
        words = next((layer.dim for layer in layers), 0)
        several = languages > 1
        adversary = several and rules.adversary_weight > 0
        self.classifier = LanguageClassifier(words, languages) if adversary else None
        masking = several and rules.masking_weight > 0
        sizes = {"embeddings": recipe.joint.dim, "averages": words} if masking else {}
        self.predictors = nn.ModuleDict({name: PairPredictor(d) for name, d in sizes.items()})
        anchored = rules.anchor_weight > 0 and any(layer.own_tables() for layer in layers)
        self.anchors = Anchors(layers) if anchored else None

    def masked_loss(
        self, whole: TupleEmbeddings, masked: TupleEmbeddings, has: Tensor, rules: TupleSampling
    ) -> Tensor:
        """Sum of the predictors' losses on embeddings and averages.

        Args:
            whole: captions of L languages and B images.
            masked: the same with masked words.
            has: [L, B] bool, whether an image has a language.
            rules: whether whole captions get a gradient, and how pairs are reduced.
        """
        losses = [
            predictor.loss(
                getattr(whole, name),
                getattr(masked, name),
                has,
                rules.detach,
                rules.masking_reduction,
            )
            for name, predictor in self.predictors.items()
            if isinstance(predictor, PairPredictor)
        ]
        return torch.stack(losses).sum()
