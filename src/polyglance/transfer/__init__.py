"""Extending a trained model to a new language, and fine-tuning it."""

from polyglance.transfer.extend import Extension, Gain, PairTraining, add_language
from polyglance.transfer.start import start_from, train_recipe
from polyglance.transfer.subwords import TaughtLanguage, teach_language
from polyglance.transfer.tune import tuning_recipe

__all__ = [
    "Extension",
    "Gain",
    "PairTraining",
    "TaughtLanguage",
    "add_language",
    "start_from",
    "teach_language",
    "train_recipe",
    "tuning_recipe",
]
