"""How batches become losses, one step for each way of sampling."""

from polyglance.training.steps.base import Outcome, Step, steps
from polyglance.training.steps.terms import TermsStep
from polyglance.training.steps.tuples import TuplesStep

__all__ = ["Outcome", "Step", "TermsStep", "TuplesStep", "steps"]
