"""Measured studies: experiments instead of recipes, with their measures as columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from polyglance.core.documents import validate
from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.recipes.merge import merge
from polyglance.storage.digest import json_digest
from polyglance.studies.experiments import DataSettings, Experiment, Settings, experiments
from polyglance.studies.format.overrides import Changes, replaced
from polyglance.studies.format.schema import Column, Row, Study

ROW = "$row"
EACH = "$each"


@dataclass(frozen=True)
class Trial:
    """One run of an experiment: its name and settings, including the seed."""

    experiment: str
    settings: Settings

    @property
    def parts(self) -> Experiment:
        return experiments.get(self.experiment)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that it returns."""
        return self.parts.measures(self.settings)

    def as_dict(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "settings": self.settings.model_dump(mode="json")}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> "Trial":
        name = value["experiment"]
        parts = experiments.get(name)
        settings = validate(parts.settings, value["settings"], f"experiment {name}")
        reads = parts.reads_lexicon is not None and parts.reads_lexicon(settings)
        if isinstance(settings, DataSettings) and not reads:
            settings = settings.model_copy(update={"lexicon": ""})
        return cls(name, settings)


def make_trial(experiment: str, changes: Iterable[Changes], each: str | None) -> Trial:
    """An experiment with its settings.

    Args:
        experiment: its name.
        changes: to the default settings, later ones taking precedence.
        each: replaces `$each`; None leaves it.
    """
    settings: dict[str, Any] = {}
    for change in changes:
        settings = merge(
            settings, replaced(change, EACH, each), experiments.get(experiment).settings
        )
    return Trial.from_dict({"experiment": experiment, "settings": settings})


def trial_key(trial: Trial) -> str:
    """The identity of a run, as a digest."""
    return json_digest(trial_identity(trial))[:24]


def trial_identity(trial: Trial) -> dict[str, Any]:
    """Experiment, version, and settings that differ from the defaults."""
    return {
        "experiment": trial.experiment,
        "version": trial.parts.version,
        "settings": trial.settings.model_dump(mode="json", exclude_defaults=True),
    }


def trial_group(trial: Trial) -> str:
    """The same for all seeds."""
    return trial_key(Trial(trial.experiment, trial.settings.model_copy(update={"seed": 0})))


def measure_of(column: Column, row: Row) -> str:
    """The measure that fills a row's cell in a column."""
    return (column.measure or "").replace(ROW, row.name)


def check_measures(study: Study, row: Row, sources: Iterable[Mapping[str, str]]) -> None:
    """Raise for a row that fills no column at any x, because of a misspelt measure.

    Args:
        study: whose columns are filled.
        row: the row.
        sources: measure → key of the run, for each x.
    """
    names = list(dict.fromkeys(name for source in sources for name in source))
    wanted = [measure_of(column, row) for column in study.columns]
    if not set(wanted) & set(names):
        hint = nearest(wanted[0], names)
        raise PolyglanceError(f"study row '{row.name}' has no measure '{wanted[0]}'{hint}")
