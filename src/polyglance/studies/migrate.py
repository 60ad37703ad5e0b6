"""Runs of version 0.1.0 under the keys of today, so that none is trained again.

A run's folder is called by a digest of its recipe, and recipes have another form now.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.files import read_json, write_json
from polyglance.recipes import Recipe, check_recipe
from polyglance.recipes.v0_1_0 import is_old
from polyglance.studies.fingerprint import IMPORTED, features_digest, nameless, run_key
from polyglance.studies.plan import RUN, Facts
from polyglance.studies.store import RunFolder
from polyglance.studies.v0_1_0 import old_key

WAS = "was"
"""The field of run.json with a run's former key."""


@dataclass(frozen=True)
class _Old:
    """A run to be renamed."""

    folder: RunFolder
    about: dict[str, Any]
    config: dict[str, Any]

    @property
    def key(self) -> str:
        return self.folder.path.name

    @property
    def source(self) -> str | None:
        """The key of the run that it starts from."""
        transfer = self.about["recipe"].get("transfer") or {}
        named = str(transfer.get("source") or "")
        return named.removeprefix(RUN) if named.startswith(RUN) else None


def migrate_runs(runs: Path, facts: Facts) -> int:
    """Rename the folders of runs that version 0.1.0 made; how many there were.

    A run whose folder is not called as version 0.1.0 would call it stays as it is: its data or
    imported features are others, or it was out of date already. An interrupted migration is
    completed by the next one.

    Args:
        runs: the folder of all runs.
        facts: of the data, whose imported features are part of keys.
    """
    waiting, renamed = list(_old_runs(runs)), _former_keys(runs)
    done = 0
    while True:
        left = {run.key for run in waiting}
        ready = [run for run in waiting if run.source not in left]
        if not ready:
            return done
        for run in ready:
            if (new := _migrate(run, facts, renamed)) is not None:
                renamed[run.key] = new
                done += 1
        waiting = [run for run in waiting if run not in ready]


def _old_runs(runs: Path) -> Iterator[_Old]:
    """Trainings whose recipe has the form of version 0.1.0, or that are half renamed."""
    for path in sorted(runs.glob("*/run.json")):
        folder = RunFolder(path.parent)
        try:
            about, config = read_json(path), read_json(folder.model / "model.json")
        except PolyglanceError:
            continue
        if not isinstance(about, dict) or not isinstance(config, dict):
            continue
        if is_old(about.get("recipe")) or about.get(WAS) == folder.path.name:
            yield _Old(folder, about, config)


def _former_keys(runs: Path) -> dict[str, str]:
    """Old key → new key of the runs that an earlier migration renamed."""
    found = {}
    for path in runs.glob("*/run.json"):
        with contextlib.suppress(PolyglanceError):
            about = read_json(path)
            if isinstance(about, dict) and WAS in about and about[WAS] != path.parent.name:
                found[about[WAS]] = path.parent.name
    return found


def _migrate(run: _Old, facts: Facts, renamed: dict[str, str]) -> str | None:
    """The run's new key, once its folder has it; None if it stays as it is."""
    data = str(run.config.get("fingerprint"))
    recipe = _today(run, facts, renamed)
    if recipe is None:
        return None
    key = run_key(recipe, data, facts.dataset)
    target = run.folder.path.with_name(key)
    with _unused(run.folder) as unused:
        if not unused or target.exists():
            return None
        dumped = recipe.model_dump(mode="json")
        # The key that it had is written before the folder is renamed: whoever comes next knows.
        write_json(run.folder.model / "model.json", {**run.config, "recipe": dumped})
        write_json(run.folder.path / "run.json", {**run.about, "recipe": dumped, WAS: run.key})
        os.rename(run.folder.path, target)
    return key


def _today(run: _Old, facts: Facts, renamed: dict[str, str]) -> Recipe | None:
    """The recipe in today's form; None where the folder's key is not that of the recipe."""
    written, data = run.about["recipe"], str(run.config.get("fingerprint"))
    feature = str((written.get("image") or {}).get("feature"))
    if feature.startswith(IMPORTED) and data != facts.fingerprint:
        return None
    features = features_digest(facts.dataset, feature)
    if is_old(written) and old_key(written, data, features) != run.key:
        return None
    try:
        recipe = nameless(check_recipe(written, str(run.folder.path / "run.json")))
    except PolyglanceError:
        return None
    if run.source is None or recipe.transfer is None or not is_old(written):
        return recipe
    if run.source not in renamed:
        return None
    begun = recipe.transfer.model_copy(update={"source": f"{RUN}{renamed[run.source]}"})
    return recipe.model_copy(update={"transfer": begun})


@contextlib.contextmanager
def _unused(folder: RunFolder) -> Iterator[bool]:
    """Whether no other process is at work on a run; none begins before the block ends."""
    with (folder.path / "lock").open("w") as handle:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            yield False
            return
        yield True
