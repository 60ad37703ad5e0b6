"""The folder of a run: what it is, its model, how it ended, its results, its log."""

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
from polyglance.storage.staging import sweep_files
from polyglance.studies.format.needs import Need
from polyglance.studies.plan import Run

T = TypeVar("T")
WEIGHTS, NO_WEIGHTS = "model.safetensors", "no-weights.txt"
"""As `models.folder` calls them, which needs torch."""
Kind = Literal["crash", "mistake"]
CRASH: Kind = "crash"
MISTAKE: Kind = "mistake"
"""How a run failed: a crash is tried again by itself, a mistake only with --retry."""


@dataclass(frozen=True)
class Ended:
    """How a run went (done.json); only trainings have more than seconds and threads."""

    seconds: float
    threads: int | None = None
    finished: str | None = None
    updates: int | None = None
    best_update: int | None = None
    parameters: int | None = None
    parts: dict[str, int] = field(default_factory=dict)
    """Parameters by part of the model; empty in runs of former versions."""
    updates_per_epoch: int | None = None
    memory: int | None = None
    warmup: int | None = None
    """Updates, from the first, whose loss was of all negatives."""
    machine: str | None = None
    """The processor: rounding differs between them, and so do results of one seed."""
    commit: str | None = None
    """Of the package, with "-dirty" where its files differed from the commit."""
    tokens: dict[str, float] = field(default_factory=dict)
    """How far languages share latent tokens; empty where there are none."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}


def as_ended(value: dict[str, Any]) -> Ended | None:
    """How a run of a report's JSON went; None if it has not ended."""
    names = {one.name for one in fields(Ended)}
    own = {name: part for name, part in value.items() if name in names}
    return Ended(**own) if "seconds" in own else None


@dataclass(frozen=True)
class Failure:
    """Why a run failed (failure.json)."""

    reason: str
    kind: Kind


def read_result(path: Path, kind: type[T]) -> T:
    """A file of a run as a `kind` of dataclass; a damaged one is a user's error."""
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
    """Whether a file is there and `read` does not fail; each version of it is read once."""
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


def _read_ended(path: Path) -> Ended:
    return read_result(path, Ended)


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
        """Whether its model can be read; that of a run from a pack cannot."""
        return (self.model / WEIGHTS).is_file()

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def done(self) -> bool:
        """Whether it ended; a run whose files cannot be read did not, and is run again."""
        there = self.measures.exists()
        return is_whole(self.path / "done.json", _read_ended) and (
            not there or is_whole(self.measures, read_json)
        )

    def describe(self, run: Run, data: str) -> None:
        """Write run.json, for people who look into the folder."""
        on = {"data": data} if data else {}
        write_json(self.path / "run.json", {"for": run.labels, **on, **run.as_dict()})

    def forget(self) -> None:
        """Make a finished run one that has to be run; its end goes first."""
        for name in ("done.json", NO_WEIGHTS):
            (self.path / name).unlink(missing_ok=True)
        for folder in (self.path / "results", self.model):
            shutil.rmtree(folder, ignore_errors=True)

    def finish(self, ended: Ended) -> None:
        write_json(self.path / "done.json", ended.as_dict())
        self.forget_failure()

    def ended(self) -> Ended | None:
        """How the run went; None before its end."""
        return read_result(self.path / "done.json", Ended) if self.done else None

    def fail(self, reason: str, kind: Kind) -> None:
        write_json(self.path / "failure.json", asdict(Failure(reason, kind)))

    def failure(self) -> Failure | None:
        path = self.path / "failure.json"
        return read_result(path, Failure) if is_whole(path, _read_failure) else None

    def forget_failure(self) -> None:
        (self.path / "failure.json").unlink(missing_ok=True)

    @property
    def measures(self) -> Path:
        """Where a trial's numbers are kept; `done` is said after they are written."""
        return self.path / "results" / "measures.json"

    def result(self, split: str, need: Need) -> Path:
        """Where the ranks of one language are kept."""
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
        """Keep other processes, of another study perhaps, off this run; freed by any death."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as handle:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            for folder in (self.path, self.path / "results"):
                sweep_files(folder)
            yield

    @contextlib.contextmanager
    def unused(self) -> Iterator[bool]:
        """Whether no other process is at work on this run; none begins before the block ends."""
        with (self.path / "lock").open("w") as handle:
            try:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                pass
            except OSError:
                yield False
                return
            yield True
