"""Renames runs of earlier versions to their current keys, so that none is trained again.

A run's folder is named by a digest of its recipe and its inputs. Recipes of version 0.1.0 had
another form, and the content of lexicons, word vectors and pretrained encoders was not part of
keys before version 0.2.0. Runs invalidated by a change of the package stay as they are
(`revisions`).
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, check_recipe
from polyglance.recipes.v0_1_0 import is_old
from polyglance.storage.files import read_json, write_json
from polyglance.studies.keys.fingerprint import (
    IMPORTED,
    features_digest,
    run_key,
    training_fields,
    unrevised_key,
)
from polyglance.studies.keys.inputs import Input, run_inputs
from polyglance.studies.keys.revisions import revisions
from polyglance.studies.keys.v0_1_0 import old_key
from polyglance.studies.plan import RUN, DataFacts
from polyglance.studies.running.store import RunFolder

FORMER_KEY = "was"
"""Field of run.json with a run's former key."""
FILES = "files"
"""Field of run.json with the digests of its inputs; earlier versions had none."""


@dataclass(frozen=True)
class _OldRun:
    """A run that may have to be renamed."""

    folder: RunFolder
    about: dict[str, Any]
    config: dict[str, Any]

    @property
    def key(self) -> str:
        return self.folder.path.name

    @property
    def data(self) -> str:
        """The fingerprint of its data."""
        return str(self.config.get("fingerprint"))

    @property
    def described(self) -> bool:
        """Whether an interrupted migration has already written its new description."""
        return self.about.get(FORMER_KEY) == self.key

    @property
    def source(self) -> str | None:
        """The key of the run that it starts from."""
        transfer = self.about["recipe"].get("transfer") or {}
        named = str(transfer.get("source") or "")
        return named.removeprefix(RUN) if named.startswith(RUN) else None


def migrate_runs(runs: Path, facts: DataFacts) -> int:
    """Rename the folders of runs of earlier versions; their number.

    A run whose folder does not have the name its version would give it is left alone: its data or
    imported features differ, or it was already out of date. So is a run that reads a file which is
    missing or has changed since. The next migration completes an interrupted one.

    Args:
        runs: the folder of all runs.
        facts: of the data, whose imported features are part of keys, and of the lexicon.
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


def _old_runs(runs: Path) -> Iterator[_OldRun]:
    """Trainings described by an earlier version, or half renamed."""
    for path in sorted(runs.glob("*/run.json")):
        folder = RunFolder(path.parent)
        try:
            about, config = read_json(path), read_json(folder.model / "model.json")
        except PolyglanceError:
            continue
        if not isinstance(about, dict) or not isinstance(config, dict):
            continue
        if not isinstance(about.get("recipe"), dict):
            continue
        if FILES not in about or about.get(FORMER_KEY) == folder.path.name:
            yield _OldRun(folder, about, config)


def _former_keys(runs: Path) -> dict[str, str]:
    """Old key → new key, for runs that an earlier migration renamed."""
    found = {}
    for path in runs.glob("*/run.json"):
        with contextlib.suppress(PolyglanceError):
            about = read_json(path)
            if (
                isinstance(about, dict)
                and FORMER_KEY in about
                and about[FORMER_KEY] != path.parent.name
            ):
                found[about[FORMER_KEY]] = path.parent.name
    return found


def _migrate(run: _OldRun, facts: DataFacts, renamed: Mapping[str, str]) -> str | None:
    """The run's new key, after renaming its folder; None if it stays as it is."""
    recipe = _current_recipe(run, facts, renamed)
    if recipe is None or revisions(recipe):
        return None
    inputs = run_inputs(recipe, facts.everywhere, facts.lexicon)
    if not all(_unchanged(one, run.folder) for one in inputs):
        return None
    files = {one.name: one.digest(facts.digests) for one in inputs}
    key = run_key(recipe, run.data, facts.dataset, files)
    target = run.folder.path.with_name(key)
    if key == run.key:
        return None
    with run.folder.unused() as unused:
        if not unused or target.exists():
            return None
        dumped = recipe.model_dump(mode="json")
        about = {**run.about, "recipe": dumped, FILES: files, FORMER_KEY: run.key}
        # The former key is written before renaming, so that an interruption can be recovered.
        write_json(run.folder.model / "model.json", {**run.config, "recipe": dumped})
        write_json(run.folder.path / "run.json", about)
        os.rename(run.folder.path, target)
    return key


def _current_recipe(run: _OldRun, facts: DataFacts, renamed: Mapping[str, str]) -> Recipe | None:
    """The recipe in its current form; None if the folder's key does not match the recipe."""
    written = run.about["recipe"]
    feature = str((written.get("image") or {}).get("feature"))
    if feature.startswith(IMPORTED) and run.data != facts.fingerprint:
        return None
    try:
        recipe = training_fields(check_recipe(written, str(run.folder.path / "run.json")))
    except PolyglanceError:
        return None
    if run.described:
        return recipe
    if is_old(written):
        former = old_key(written, run.data, features_digest(facts.dataset, feature))
    else:
        former = unrevised_key(recipe, run.data, facts.dataset)
    if former != run.key:
        return None
    if run.source is None or recipe.transfer is None:
        return recipe
    if run.source not in renamed:
        # The current form of a source that kept its key.
        return None if is_old(written) else recipe
    begun = recipe.transfer.model_copy(update={"source": f"{RUN}{renamed[run.source]}"})
    return recipe.model_copy(update={"transfer": begun})


def _unchanged(one: Input, folder: RunFolder) -> bool:
    """Whether no file has changed since the run ended, by modification times."""
    if not one.files or not folder.done:
        return False
    ended = (folder.path / "done.json").stat().st_mtime
    return all(path.stat().st_mtime < ended for path in one.files)
