"""Training of recipes."""

from polyglance.training.callbacks import Callback, WatchCollapse, WriteCheckpoints
from polyglance.training.trainer import Result, Trainer, train

__all__ = ["Callback", "Result", "Trainer", "WatchCollapse", "WriteCheckpoints", "train"]
