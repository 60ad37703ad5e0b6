"""Training of recipes."""

from polyglance.training.trainer import Result, train

__all__ = ["Result", "train"]
