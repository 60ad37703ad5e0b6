"""How words score latent tokens, and the vectors of the tokens that they take."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from polyglance.models.networks.similarity import l2

TEMPERATURE = 0.1
"""Of cosines of queries and keys, before a softmax."""


class TokenScores(nn.Module):
    """Scores of tokens for the words of every language, and the tokens' vectors [N, size]."""

    vectors: nn.Parameter

    @abstractmethod
    def all_scores(self, language: int, words: Tensor) -> Tensor:
        """Scores [u, N] of words [u, dim] of a language."""

    @abstractmethod
    def scores_of(self, language: int, words: Tensor, tokens: Tensor) -> Tensor:
        """Scores [u, c] of the tokens [u, c] of each word [u, dim]."""

    def best(self, language: int, words: Tensor, count: int) -> Tensor:
        """The best tokens of words, best first: [u, count].

        Args:
            language: number of the language.
            words: [u, dim], word vectors.
            count: tokens of each word.
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
        """Vectors [u, size] of the tokens of words (SMALR, §3.1).

        Soft, a word is the mixture Σ π_a E[a] of its best tokens, π a softmax of their scores.
        Hard, it is one of them, and the gradient reaches the scores straight through its share:
        e = E[a] (1 + π_a − |π_a|), where |π_a| is a constant. Only the best have a gradient.

        Args:
            language: number of the language.
            words: [u, dim], word vectors.
            explore: chance that the token is any of the best instead of the first.
            count: how many the best are.
            generator: of the draws.
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
    """A layer of each language from word vectors to scores, as the paper has it."""

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
    """Cosines of a word's query with keys that all languages share.

    Words are in one space already; a layer of each language, which begins as nothing, may turn
    them. Tokens' vectors begin as their keys in a random direction, so that near keys have near
    vectors.
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
