"""The folder of a run: its description, model, outcome, results and log."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.evaluation import load_report
from polyglance.storage.digest import json_digest
from polyglance.storage.files import read_json, write_json
from polyglance.storage.locks import locked, locked_if_free
from polyglance.storage.staging import sweep_files
from polyglance.studies.format.needs import Need
from polyglance.studies.plan import Run

T = TypeVar("T")
WEIGHTS, NO_WEIGHTS = "model.safetensors", "no-weights.txt"
"""The same as in `models.folder`, which needs torch."""
LOCK = "lock"
Kind = Literal["crash", "mistake"]
CRASH: Kind = "crash"
MISTAKE: Kind = "mistake"
"""Kinds of failure: a crash is retried automatically, a mistake only with --retry."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run (done.json); only trainings have more than seconds and threads."""

    seconds: float
    threads: int | None = None
    finished: str | None = None
    updates: int | None = None
    best_update: int | None = None
    parameters: int | None = None
    parts: dict[str, int] = field(default_factory=dict)
    """Parameters by part of the model; empty in runs of earlier versions."""
    updates_per_epoch: int | None = None
    memory: int | None = None
    warmup: int | None = None
    """Length of the warm-up with all negatives, in updates."""
    machine: str | None = None
    """The processor: rounding, and so the results of one seed, differ between processors."""
    commit: str | None = None
    """Commit of the package, with "-dirty" if its files differed from the commit."""
    tokens: dict[str, float] = field(default_factory=dict)
    """How much languages share latent tokens; empty if there are none."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}


def read_outcome(value: dict[str, Any]) -> RunOutcome | None:
    """The outcome of a run in a report's JSON; None if it has not finished."""
    names = {one.name for one in fields(RunOutcome)}
    own = {name: part for name, part in value.items() if name in names}
    return RunOutcome(**own) if "seconds" in own else None


@dataclass(frozen=True)
class Failure:
    """The reason of a failure (failure.json)."""

    reason: str
    kind: Kind


def read_result(path: Path, kind: type[T]) -> T:
    """Read a file of a run as a dataclass of type `kind`; a damaged one is a user error."""
    try:
        return TypeAdapter(kind).validate_python(read_json(path))
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"]))
        raise PolyglanceError(
            f"{path}: damaged, field '{where}': {detail['msg'].lower()}; "
            f"delete the folder {path.parent} to run it again"
        ) from None


def is_whole(path: Path, read: Callable[[Path], object]) -> bool:
    """Whether a file exists and `read` succeeds; each version of it is read once."""
    try:
        about = path.stat()
    except OSError:
        return False
    return _is_whole(path, read, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=100_000)
def _is_whole(path: Path, read: Callable[[Path], object], changed: int, size: int) -> bool:
    try:
        read(path)
    except PolyglanceError:
        return False
    return True


def _read_outcome(path: Path) -> RunOutcome:
    return read_result(path, RunOutcome)


def _read_failure(path: Path) -> Failure:
    return read_result(path, Failure)


@dataclass(frozen=True)
class RunFolder:
    """`RUNS/KEY`, shared by all studies. A finished run is never trained again."""

    path: Path

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def has_weights(self) -> bool:
        """Whether its weights are available; a run from a pack has none."""
        return (self.model / WEIGHTS).is_file()

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def done(self) -> bool:
        """Whether it has finished; a run with unreadable files has not, and is run again."""
        there = self.measures.exists()
        return is_whole(self.path / "done.json", _read_outcome) and (
            not there or is_whole(self.measures, read_json)
        )

    def describe(self, run: Run, data: str) -> None:
        """Write run.json, for users who inspect the folder."""
        on = {"data": data} if data else {}
        write_json(self.path / "run.json", {"for": run.labels, **on, **run.as_dict()})

    def forget(self) -> None:
        """Mark a finished run as unfinished; done.json is removed first."""
        for name in ("done.json", NO_WEIGHTS):
            (self.path / name).unlink(missing_ok=True)
        for folder in (self.path / "results", self.model):
            shutil.rmtree(folder, ignore_errors=True)

    def finish(self, outcome: RunOutcome) -> None:
        write_json(self.path / "done.json", outcome.as_dict())
        self.forget_failure()

    def outcome(self) -> RunOutcome | None:
        """The outcome of the run; None before its end."""
        return read_result(self.path / "done.json", RunOutcome) if self.done else None

    def fail(self, reason: str, kind: Kind) -> None:
        write_json(self.path / "failure.json", asdict(Failure(reason, kind)))

    def failure(self) -> Failure | None:
        path = self.path / "failure.json"
        return read_result(path, Failure) if is_whole(path, _read_failure) else None

    def forget_failure(self) -> None:
        (self.path / "failure.json").unlink(missing_ok=True)

    @property
    def measures(self) -> Path:
        """File of a trial's measures; `done` is written after it."""
        return self.path / "results" / "measures.json"

    def result(self, split: str, need: Need) -> Path:
        """File of the ranks in one language."""
        kinds = "+".join(need.kinds or ("best",))
        view = f".{json_digest(need.view)[:12]}" if need.view else ""
        return self.path / "results" / f"{split}.{kinds}.{need.language}{view}.json"

    def lacking(self, split: str, needs: set[Need]) -> list[Need]:
        """What has not been evaluated yet, or cannot be read and is evaluated again."""
        missing = [need for need in needs if not is_whole(self.result(split, need), load_report)]
        return sorted(missing, key=lambda need: need.order)

    def complete(self, split: str, needs: set[Need]) -> bool:
        return self.done and not self.lacking(split, needs)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock this run against other processes; the lock is freed when a process dies."""
        self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path / LOCK):
            for folder in (self.path, self.path / "results"):
                sweep_files(folder)
            yield

    @contextlib.contextmanager
    def unused(self) -> Iterator[bool]:
        """Whether no other process is working on this run; none can start within the block."""
        with locked_if_free(self.path / LOCK) as free:
            yield free
