"""Writes a pack of a plan's finished runs."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polyglance
from polyglance.errors import PolyglanceError
from polyglance.evaluation import load_report
from polyglance.storage.files import atomic, read_json
from polyglance.studies.findings.sizes import Sizes
from polyglance.studies.format.measured import trial_identity
from polyglance.studies.keys.fingerprint import run_identity
from polyglance.studies.packs.archive import ABOUT, Writer
from polyglance.studies.packs.content import FORMAT, MEASURES, RESULT_NAME, Pack, PackedRun
from polyglance.studies.plan import MEMBERS, DataFacts, Plan, Run
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import RunFolder, is_whole

RENEWED_SECONDS = 300.0
"""Seconds between updates of a pack while runs finish."""


def write_pack(path: Path, plan: Plan, facts: DataFacts | None, options: Options) -> int:
    """Write the plan's finished runs into one file; the number of runs in it.

    Runs in an existing file that are not in this plan are kept.

    Args:
        path: the file.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: with the location of the runs.
    """
    count = 0
    with atomic(path) as handle:
        writer = Writer(handle)
        about = {"format": FORMAT, "polyglance": polyglance.__version__}
        writer.put(ABOUT, json.dumps(about).encode())
        for run in _runs(path, plan, facts, options):
            run.write(writer)
            count += 1
        writer.close()
    return count


@dataclass
class PackUpdater:
    """Updates a pack from time to time as runs finish, so that a lost machine loses little."""

    path: Path
    plan: Plan
    facts: DataFacts | None
    options: Options
    _written: float = field(default_factory=time.monotonic)

    def __call__(self) -> None:
        if time.monotonic() - self._written >= RENEWED_SECONDS:
            write_pack(self.path, self.plan, self.facts, self.options)
            self._written = time.monotonic()


def _runs(path: Path, plan: Plan, facts: DataFacts | None, options: Options) -> Iterator[PackedRun]:
    sizes, own = Sizes(options), set()
    for run in plan.runs.values():
        folder = options.folder(run)
        if (outcome := folder.outcome()) is None:
            continue
        if run.recipe is not None and not outcome.parts:  # from an earlier version
            outcome = replace(outcome, parts=sizes.counted(run))
        own.add(run.key)
        yield PackedRun(run.key, _identity(run, facts), outcome, _results(folder))
    if path.exists():
        with closing(Pack(path)) as former:
            for key in former.keys:
                if key not in own:
                    yield former.read(key)


def _identity(run: Run, facts: DataFacts | None) -> dict[str, Any]:
    if run.members:
        return {MEMBERS: list(run.members)}
    if run.trial is not None:
        return trial_identity(run.trial)
    if run.recipe is None or facts is None:
        raise PolyglanceError("packing runs needs the study's data; pass --data")
    return run_identity(run.recipe, facts.fingerprint, facts.dataset, run.files)


def _results(folder: RunFolder) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted((folder.path / "results").glob("*.json")):
        whole = path.name == MEASURES or (
            RESULT_NAME.fullmatch(path.name) is not None and is_whole(path, load_report)
        )
        if whole:
            found[path.name] = read_json(path)
    return found
