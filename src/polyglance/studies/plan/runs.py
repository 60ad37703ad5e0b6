"""The parts of a plan: runs, the lines that they fill, and facts about the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglance.data.dataset import Dataset, dataset_fingerprint
from polyglance.evaluation.reports.report import HUMAN_KINDS
from polyglance.recipes import Recipe
from polyglance.studies.format.measured import Trial, measure_of, trial_group
from polyglance.studies.format.needs import Need, kinds_of
from polyglance.studies.format.schema import Column, Profile, Row, Study
from polyglance.studies.keys.digests import Digests
from polyglance.studies.keys.fingerprint import group_key
from polyglance.studies.keys.inputs import Input

SOURCE, RUN = "source:", "run:"
"""Prefixes by which a row refers to a source of the study, and a recipe to its run."""

MEMBERS = "members"
"""Field of run.json with the runs of an ensemble."""

X = int | float | str | None
NOTHING: Mapping[str, Any] = {}


@dataclass
class Run:
    """One training, or one trial of an experiment, shared by all rows that need it."""

    key: str
    recipe: Recipe | None
    labels: list[str] = field(default_factory=list)
    rows: set[str] = field(default_factory=set)
    needs: set[Need] = field(default_factory=set)
    trial: Trial | None = None
    source: str | None = None
    """Key of the run that it starts from."""
    data: str = ""
    """Fingerprint of the data."""
    inputs: list[Input] = field(default_factory=list)
    """What it reads besides the data."""
    files: dict[str, str] = field(default_factory=dict)
    """Their digests by name."""
    members: tuple[str, ...] = ()
    """For an ensemble, the keys of the runs whose scores are averaged."""

    @cached_property
    def group(self) -> str:
        """The same for all seeds, to estimate durations."""
        if self.trial is not None:
            return trial_group(self.trial)
        return self.key if self.recipe is None else group_key(self.recipe, self.data)

    @property
    def dependencies(self) -> set[str]:
        """Keys of the runs that it depends on."""
        return {*self.members, *([self.source] if self.source else [])}

    @property
    def label(self) -> str:
        more = f" (+{len(self.labels) - 1})" if len(self.labels) > 1 else ""
        return self.labels[0] + more

    def as_dict(self) -> dict[str, Any]:
        """The description of the run, for files."""
        if self.members:
            return {MEMBERS: list(self.members)}
        if self.recipe is not None:
            return {"recipe": self.recipe.model_dump(mode="json"), "files": self.files}
        return {} if self.trial is None else self.trial.as_dict()


@dataclass(frozen=True)
class Line:
    """A row at one x: which run fills which language or measure, for each seed."""

    row: Row
    x: X
    sources: list[dict[str, str]]
    """By seed: language or measure → key of the run."""

    @property
    def title(self) -> str:
        return self.row.title if self.x is None else f"{self.row.title}, {self.x}"


@dataclass(frozen=True)
class DataFacts:
    """What a plan needs to know about the data: split languages, those of human captions."""

    dataset: Dataset
    fingerprint: str
    languages: list[str]
    human: list[str]
    everywhere: list[str]
    """Languages of all splits."""
    lexicon: Path | None = None
    """For trainings, translators and perturbations."""
    digests: Digests = field(default_factory=Digests)
    """Of the files that runs read besides the data."""

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        split: str,
        lexicon: Path | None = None,
        cache: Path | None = None,
    ) -> "DataFacts":
        """The facts of a dataset.

        Args:
            dataset: images with captions.
            split: to evaluate on.
            lexicon: the file, for whatever needs one.
            cache: folder for digests of large files.
        """
        part = dataset.split(split)
        human = [code for code in part.languages if part.best_kind(code) in HUMAN_KINDS]
        fingerprint, every = dataset_fingerprint(dataset), dataset.languages
        digests = Digests(cache)
        return cls(dataset, fingerprint, part.languages, human, every, lexicon, digests)


@dataclass(frozen=True)
class Plan:
    """Everything that a study runs and shows at one profile."""

    study: Study
    profile: Profile
    profile_name: str
    seeds: int
    columns: list[Column]
    lines: list[Line]
    runs: dict[str, Run]
    missing: list[str]
    """Languages of columns that the data lacks."""
    lacking: dict[str, list[str]] = field(default_factory=dict)
    """Rows that train on languages that the data lacks."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Rows that cannot run here → what is missing, and where to get it."""
    recipes: dict[str, list[tuple[str | None, Recipe]]] = field(default_factory=dict)
    """Rows and sources → recipes of the first seed with their language, runnable or not."""

    @cached_property
    def is_v0_1_0(self) -> bool:
        """Whether the study, and so its recipes, is in the form of version 0.1.0."""
        return self.study.is_v0_1_0

    def members(self, column: Column, row: Row, facts: DataFacts | None) -> list[str]:
        """The languages that a column averages over, or its measure.

        Args:
            column: a column of the study.
            row: a row of the study.
            facts: of the data; None in a measured study.
        """
        if column.measure is not None:
            return [measure_of(column, row)]
        if column.language is not None:
            return [column.language]
        if facts is None or column.counted:
            return []
        chosen = self.study.evaluation.languages or facts.languages
        if column.average == "all":
            return [code for code in chosen if code in facts.languages]
        kinds = kinds_of(self.study, row, column)
        if kinds is not None:
            return list(chosen) if set(kinds) <= HUMAN_KINDS else []
        return [code for code in chosen if code in facts.human]


def describe(run: Run, row: Row, x: X, each: str | None, seed: int) -> None:
    """Record in a run that a row needs it.

    Args:
        run: known or new.
        row: the row.
        x: its position on a curve.
        each: the language, or another value, of this run among the row's.
        seed: of the run.
    """
    parts = [row.name, each, None if x is None else str(x), f"seed {seed}"]
    run.labels.append(", ".join(part for part in parts if part))
    run.rows.add(row.name)
