"""The interface of experiments for studies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from polyglance.core.registry import Registry
from polyglance.core.sections import Section


class Settings(Section):
    """Settings of an experiment; defaults are not part of a run's identity."""

    seed: int = 0


class DataSettings(Settings):
    """Settings of an experiment on a dataset."""

    fingerprint: str = Field("", description="of the data, set by the command")
    lexicon: str = Field("", description="digest of the lexicon it reads, set by the command")


@dataclass(frozen=True)
class Measured:
    """Values by measure, and data (JSON) for the experiment's own plot."""

    values: dict[str, float]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """A finished run for a plot: its row, settings and extras."""

    row: str
    settings: Any
    extra: dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A function from settings to measures, with what a plan must know beforehand.

    `measures` returns the names of the measures; `version` is increased when a change makes old
    values wrong; a timing experiment runs `alone`, regardless of --jobs. With `data` it needs a
    dataset, and its settings are `DataSettings`.
    """

    settings: type[Any]
    measures: Callable[[Any], list[str]]
    run: Callable[..., Measured]
    """Takes settings; with `data` also the dataset and the cache folder."""
    about: str
    version: int = 1
    alone: bool = False
    data: bool = False
    reads_lexicon: Callable[[Any], bool] | None = None
    """Whether settings use a lexicon, which is then part of a run's identity."""
    draw: Callable[[Sequence[Sample]], tuple[str, Any]] | None = None
    """From the runs of the first seed to a caption and a Matplotlib figure."""


experiments: Registry[Experiment] = Registry("experiment")
