"""Papers' tables as data: which recipes to train, what to measure, what the paper claims."""

from polyglance.studies.format.load import load_study, study_names
from polyglance.studies.format.schema import Study
from polyglance.studies.plan import Plan, make_plan

__all__ = ["Plan", "Study", "load_study", "make_plan", "study_names"]
