"""Perturbed queries: typos, inflections, unseen synonyms, code-switching, spelling."""

from polyglance.evaluation.perturb.perturber import Perturber, make_perturber, perturbation_tag
from polyglance.evaluation.perturb.spec import KINDS, Perturbation

__all__ = ["KINDS", "Perturbation", "Perturber", "make_perturber", "perturbation_tag"]
