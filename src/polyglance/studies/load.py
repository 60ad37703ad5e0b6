"""Reading study files: by name or path, every mistake named."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.studies.check import check_references
from polyglance.studies.schema import Study

SUFFIXES = {".yaml", ".yml"}


def study_names() -> list[str]:
    """Names of the studies that come with the package."""
    files = (file.name for file in resources.files("polyglance.studies").iterdir())
    return sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml"))


def short_name(name: str) -> str:
    """What a study's files are called: its name, or its file's."""
    return Path(name).stem if Path(name).suffix in SUFFIXES else name


def load_study(name: str) -> Study:
    """The study called `name`, or a YAML file of the user's own."""
    source, text = _read(name)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise PolyglanceError(f"{source}{line}: not valid YAML") from None
    if not isinstance(value, dict):
        raise PolyglanceError(f"{source}: expected a study with title, paper, columns and rows")
    try:
        study = Study.model_validate(value)
    except ValidationError as error:
        raise PolyglanceError(f"{source}: {_explain(error)}") from None
    check_references(study, source)
    return study


def _read(name: str) -> tuple[str, str]:
    path = Path(name)
    if path.suffix in SUFFIXES:
        if not path.is_file():
            raise PolyglanceError(f"{path}: no such study file")
        return str(path), path.read_text(encoding="utf-8")
    if name not in study_names():
        raise PolyglanceError(
            f"unknown study '{name}'{nearest(name, study_names())}; "
            "'polyglance study --list' lists them, and a path to a .yaml file works too"
        )
    file = resources.files("polyglance.studies") / f"{name}.yaml"
    return f"study {name}", file.read_text(encoding="utf-8")


def _explain(error: ValidationError) -> str:
    detail = error.errors()[0]
    location = [str(part) for part in detail["loc"]]
    field = ".".join(location)
    if detail["type"] == "extra_forbidden":
        return f"unknown field '{field}'{nearest(location[-1], _fields_at(location[:-1]))}"
    if detail["type"] == "missing":
        return f"field '{field}' is missing"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "value_error":
        return f"'{field}': {message}" if field else message
    return f"field '{field}': {message.lower()} (got {detail['input']!r})"


def _fields_at(location: Sequence[str]) -> list[str]:
    """The fields of the part of a study at `location`, through lists and mappings."""
    kind: Any = Study
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[part].annotation
        else:
            kind = get_args(kind)[-1]
    return list(getattr(kind, "model_fields", {}))
