"""Papers' tables as data: which recipes to train, what to measure, what the paper claims."""

from polyglance.studies.format.load import load_study, study_names
from polyglance.studies.format.schema import Study
from polyglance.studies.plan import Plan, make_plan
from polyglance.studies.run import (
    PreparedStudy,
    StudyOptions,
    check_report_folder,
    plan_states,
    prepare_study,
    run_study,
)

__all__ = [
    "Plan",
    "PreparedStudy",
    "Study",
    "StudyOptions",
    "check_report_folder",
    "load_study",
    "make_plan",
    "plan_states",
    "prepare_study",
    "run_study",
    "study_names",
]
