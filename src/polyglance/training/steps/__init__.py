"""From batches to losses, one step per kind of sampling."""

from polyglance.training.steps.base import Step, StepOutcome, steps
from polyglance.training.steps.images import ImagesStep
from polyglance.training.steps.terms import TermsStep
from polyglance.training.steps.tuples import TuplesStep

__all__ = ["ImagesStep", "Step", "StepOutcome", "TermsStep", "TuplesStep", "steps"]
