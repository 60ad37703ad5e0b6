"""A study's plan: all its runs, and which cells they fill."""

from polyglance.studies.plan.make import count_runs, is_chosen, make_plan, pick_profile
from polyglance.studies.plan.runs import MEMBERS, RUN, SOURCE, DataFacts, Line, Plan, Run, X

__all__ = [
    "MEMBERS",
    "RUN",
    "SOURCE",
    "DataFacts",
    "Line",
    "Plan",
    "Run",
    "X",
    "count_runs",
    "is_chosen",
    "make_plan",
    "pick_profile",
]
