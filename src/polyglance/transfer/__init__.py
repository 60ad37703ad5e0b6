"""Extending a trained model to a new language, and fine-tuning it."""

from polyglance.transfer.extend import Extension, Gain, PairTraining, add_language
from polyglance.transfer.start import start_from, train_recipe
from polyglance.transfer.subwords import TaughtLanguage, TextPairs, teach_language, teach_pairs
from polyglance.transfer.tune import tuning_recipe

__all__ = [
    "Extension",
    "Gain",
    "PairTraining",
    "TaughtLanguage",
    "TextPairs",
    "add_language",
    "start_from",
    "teach_language",
    "teach_pairs",
    "train_recipe",
    "tuning_recipe",
]
