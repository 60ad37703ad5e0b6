"""Bringing a trained model to a new language."""

from polyglance.transfer.extend import Extension, Gain, PairTraining, add_language
from polyglance.transfer.start import start_from, train_recipe

__all__ = [
    "Extension",
    "Gain",
    "PairTraining",
    "add_language",
    "start_from",
    "train_recipe",
]
