"""Scores of latent tokens for words, and the vectors of the tokens."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from polyglance.models.networks.similarity import l2

TEMPERATURE = 0.1
"""Of the cosine similarities of queries and keys, before the softmax."""


class TokenScores(nn.Module):
    """Scores of tokens for the words of every language, and the token vectors [N, size]."""

    vectors: nn.Parameter

    @abstractmethod
    def all_scores(self, language: int, words: Tensor) -> Tensor:
        """Scores [u, N] of all tokens for words [u, dim] of a language."""

    @abstractmethod
    def scores_of(self, language: int, words: Tensor, tokens: Tensor) -> Tensor:
        """Scores [u, c] of the given tokens [u, c] for words [u, dim].

        Args:
            language: index of the language.
            words: [u, dim], word vectors.
            tokens: [u, c], candidates for each word.
        """

    def best(self, language: int, words: Tensor, count: int) -> Tensor:
        """The best tokens of words, best first: [u, count].

        Args:
            language: index of the language.
            words: [u, dim], word vectors.
            count: tokens per word.
        """
        with torch.no_grad():
            scores = self.all_scores(language, words)
            return scores.topk(min(count, scores.shape[1]), dim=1).indices

    def embed(
        self,
        language: int,
        words: Tensor,
        explore: float,
        count: int,
        generator: torch.Generator,
        soft: bool = False,
    ) -> Tensor:
        """Token vectors [u, size] of words (SMALR, §3.1).

        Soft, a word is the mixture Σ π_a E[a] of its best tokens, π being the softmax of their
        scores. Hard, it is one of them, with a straight-through gradient to the scores:
        e = E[a] (1 + π_a − |π_a|), where |π_a| is a constant. Only the best tokens get a gradient.

        Args:
            language: index of the language.
            words: [u, dim], word vectors.
            explore: probability of a random one of the best tokens instead of the first.
            count: number of best tokens.
            generator: random generator.
            soft: a mixture instead of one token.
        """
        best = self.best(language, words, count)
        shares = self.scores_of(language, words, best).softmax(1)
        if soft:
            return (shares.unsqueeze(1) @ self.vectors[best]).squeeze(1)
        other = torch.randint(best.shape[1], (len(best), 1), generator=generator)
        explored = torch.rand(len(best), 1, generator=generator) < explore
        place = torch.where(explored, other, 0)
        share = shares.gather(1, place)
        return self.vectors[best.gather(1, place).squeeze(1)] * (1 + share - share.detach())


class LayerScores(TokenScores):
    """A linear layer per language from word vectors to scores, as in the paper.

    Args:
        languages: number of languages.
        dim: of a word vector.
        tokens: N, number of latent tokens.
        size: dimension of a token's vector.
        generator: for initial weights.
    """

    def __init__(
        self, languages: int, dim: int, tokens: int, size: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.weight = _uniform(dim**-0.5, generator, languages, tokens, dim)
        self.bias = nn.Parameter(torch.zeros(languages, tokens))
        self.vectors = _uniform(0.1, generator, tokens, size)

    def all_scores(self, language: int, words: Tensor) -> Tensor:
        return torch.addmm(self.bias[language], words, self.weight[language].t())

    def scores_of(self, language: int, words: Tensor, tokens: Tensor) -> Tensor:
        scores = (self.weight[language][tokens] @ words.unsqueeze(2)).squeeze(2)
        return scores + self.bias[language][tokens]


class KeyScores(TokenScores):
    """Cosine similarities of a word's query with keys that all languages share.

    Words are already in one space; a layer per language, initially the identity, may rotate them.
    Token vectors start as a random projection of their keys, so that close keys have close
    vectors.

    Args:
        languages: number of languages.
        keys: [N, dim], initial keys of the latent tokens.
        size: dimension of a token's vector.
        generator: for the random projection.
    """

    def __init__(self, languages: int, keys: Tensor, size: int, generator: torch.Generator) -> None:
        super().__init__()
        dim = keys.shape[1]
        self.turns = nn.Parameter(torch.eye(dim).repeat(languages, 1, 1))
        self.keys = nn.Parameter(keys.clone())
        spread = torch.randn(dim, size, generator=generator) * size**-0.5
        self.vectors = nn.Parameter(keys @ spread)

    def all_scores(self, language: int, words: Tensor) -> Tensor:
        return l2(words @ self.turns[language]) @ l2(self.keys).t() / TEMPERATURE

    def scores_of(self, language: int, words: Tensor, tokens: Tensor) -> Tensor:
        queries = l2(words @ self.turns[language])
        return (l2(self.keys[tokens]) @ queries.unsqueeze(2)).squeeze(2) / TEMPERATURE


def _uniform(bound: float, generator: torch.Generator, *shape: int) -> nn.Parameter:
    return nn.Parameter(bound * (2 * torch.rand(*shape, generator=generator) - 1))
