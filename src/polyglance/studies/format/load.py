"""Reads study files, by name or path, and reports every error."""

from fnmatch import fnmatch
from pathlib import Path

from polyglance.core.documents import SUFFIXES, document_names, read_document, validate
from polyglance.studies.format.check import check_references
from polyglance.studies.format.schema import Study

PACKAGE = "polyglance.studies.tables"
PROFILES = "polyglance.studies.profiles"


def study_names() -> list[str]:
    """Names of the included studies."""
    return list(document_names(PACKAGE))


def short_name(name: str) -> str:
    """Base name of a study's files: its name, or that of its file."""
    return Path(name).stem if Path(name).suffix in SUFFIXES else name


def load_study(name: str) -> Study:
    """The included study called `name`, or the user's YAML file."""
    source, value = read_document(name, PACKAGE, "study", "polyglance study --list")
    if isinstance(value.get("profiles"), str):
        value["profiles"] = read_document(value["profiles"], PROFILES, "set of profiles")[1]
        study = _without_unused_rows(validate(Study, value, source))
    else:
        study = validate(Study, value, source)
    check_references(study, source)
    return study


def _without_unused_rows(study: Study) -> Study:
    """Drop rows from shared profiles that this study does not have."""
    names = study.runnable
    profiles = {}
    for name, profile in study.profiles.items():
        known = {
            field: {p: own for p, own in by.items() if any(fnmatch(n, p) for n in names)}
            for field, by in (("rows", profile.rows), ("fewer_seeds", profile.fewer_seeds))
        }
        profiles[name] = profile.model_copy(update=known)
    return study.model_copy(update={"profiles": profiles})
