"""The folder of a run: what it is, its model, how it ended, its results, its log."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.digest import json_digest
from polyglance.files import read_json, write_json
from polyglance.studies.needs import Need
from polyglance.studies.plan import Run

CRASH, MISTAKE = "crash", "mistake"
"""How a run failed: a crash is tried again by itself, a mistake only with --retry."""


@dataclass(frozen=True)
class RunFolder:
    """`RUNS/KEY`, shared by all studies. A finished run is never trained again."""

    path: Path

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def done(self) -> bool:
        return (self.path / "done.json").is_file()

    def describe(self, run: Run, data: str) -> None:
        """Write run.json, for people who look into the folder."""
        on = {"data": data} if data else {}
        write_json(self.path / "run.json", {"for": run.labels, **on, **run.as_dict()})

    def finish(self, facts: dict[str, Any]) -> None:
        write_json(self.path / "done.json", facts)
        self.forget_failure()

    def facts(self) -> dict[str, Any]:
        """How the training went; empty before its end."""
        return dict(read_json(self.path / "done.json")) if self.done else {}

    def fail(self, reason: str, kind: str) -> None:
        write_json(self.path / "failure.json", {"reason": reason, "kind": kind})

    def failure(self) -> dict[str, str] | None:
        path = self.path / "failure.json"
        return dict(read_json(path)) if path.is_file() else None

    def forget_failure(self) -> None:
        (self.path / "failure.json").unlink(missing_ok=True)

    @property
    def measures(self) -> Path:
        """Where a trial's numbers are kept; `done` is said after they are written."""
        return self.path / "results" / "measures.json"

    def result(self, split: str, need: Need) -> Path:
        """Where the ranks of one language are kept."""
        kinds, language, view = Need(*need)
        mark = f".{json_digest(view)[:12]}" if view else ""
        return (
            self.path / "results" / f"{split}.{'+'.join(kinds or ('best',))}.{language}{mark}.json"
        )

    def lacking(self, split: str, needs: set[Need]) -> list[Need]:
        """What has not been judged yet."""
        missing = [Need(*need) for need in needs if not self.result(split, need).is_file()]
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
            yield
