"""Losses on score matrices: pure functions, and the objective that a recipe names."""

from polyglance.objectives.adversary import LanguageClassifier, reverse_gradient
from polyglance.objectives.captioning import CaptionGenerator, caption_loss
from polyglance.objectives.hinge import hinge_costs, max_of_hinges, sum_of_hinges
from polyglance.objectives.infonce import info_nce
from polyglance.objectives.masked import PairPredictor, hide_words
from polyglance.objectives.mixed import hard_weight, mixed_hinges
from polyglance.objectives.neighbourhood import across_languages, same_language
from polyglance.objectives.objective import Objective, build_objective, objectives
from polyglance.objectives.triplets import match_images

__all__ = [
    "CaptionGenerator",
    "LanguageClassifier",
    "Objective",
    "PairPredictor",
    "across_languages",
    "build_objective",
    "caption_loss",
    "hard_weight",
    "hide_words",
    "hinge_costs",
    "info_nce",
    "match_images",
    "max_of_hinges",
    "mixed_hinges",
    "objectives",
    "reverse_gradient",
    "same_language",
    "sum_of_hinges",
]
