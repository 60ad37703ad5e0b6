"""Learning the latent token of each word (Burns et al. 2020, SMALR, §3.1)."""

from polyglance.training.assignment.assign import assign_tokens, random_tokens
from polyglance.training.assignment.scores import KeyScores, LayerScores, TokenScores
from polyglance.training.assignment.words import NumberedWords, whitened

__all__ = [
    "KeyScores",
    "LayerScores",
    "NumberedWords",
    "TokenScores",
    "assign_tokens",
    "random_tokens",
    "whitened",
]
