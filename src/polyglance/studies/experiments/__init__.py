"""Experiments of measured studies: from settings with a seed to measures."""

from polyglance.studies.experiments import pooling_patterns, retrieval_time, word_alignment
from polyglance.studies.experiments.base import (
    DataSettings,
    Experiment,
    Measured,
    Settings,
    experiments,
)

experiments.register("pooling-patterns")(pooling_patterns.EXPERIMENT)
experiments.register("retrieval-time")(retrieval_time.EXPERIMENT)
experiments.register("word-alignment")(word_alignment.EXPERIMENT)

__all__ = ["DataSettings", "Experiment", "Measured", "Settings", "experiments"]
