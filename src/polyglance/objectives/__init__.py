"""Losses on score matrices: pure functions, and the objective that a recipe names."""

from polyglance.objectives.hinge import hinge_costs, max_of_hinges, sum_of_hinges
from polyglance.objectives.infonce import info_nce
from polyglance.objectives.mixed import hard_weight, mixed_hinges
from polyglance.objectives.objective import Objective, build_objective, objectives

__all__ = [
    "Objective",
    "build_objective",
    "hard_weight",
    "hinge_costs",
    "info_nce",
    "max_of_hinges",
    "mixed_hinges",
    "objectives",
    "sum_of_hinges",
]
