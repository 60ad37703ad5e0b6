"""Bringing a trained model to a new language."""

from polyglance.transfer.extend import evaluate_gain, extend_model, extension_recipe
from polyglance.transfer.start import start_from, train_recipe

__all__ = ["evaluate_gain", "extend_model", "extension_recipe", "start_from", "train_recipe"]
