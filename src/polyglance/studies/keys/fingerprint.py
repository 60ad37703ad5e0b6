"""The key of a run: a digest of the resolved recipe and the content of all its inputs."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from polyglance.core.sections import Section
from polyglance.data.dataset import Dataset
from polyglance.recipes import Recipe
from polyglance.recipes.flat_assignment import without_assignment
from polyglance.storage.digest import content_digest, file_ends, json_digest
from polyglance.storage.files import refuse_pipes
from polyglance.studies.keys.inputs import dictionary_kinds
from polyglance.studies.keys.revisions import FORMER_DEFAULTS, revisions
from polyglance.vision.extraction.store import INDEX, META, VECTORS

RUN_FORMAT = 2
"""Increased when a change of the package invalidates all old runs."""

IMPORTED = "imported/"
NOTHING: Mapping[str, str] = {}


def training_fields(recipe: Recipe, seed: int | None = None) -> Recipe:
    """The recipe without fields that do not affect training, as stored with runs.

    Args:
        recipe: of a training.
        seed: of the training; None is the recipe's.
    """
    changes: dict[str, Any] = {**_NO_TRAINING}
    if seed is not None:
        changes["training"] = recipe.training.model_copy(update={"seed": seed})
    return recipe.model_copy(update=changes)


_NO_TRAINING = {"name": "study", "paper": "", "summary": "", "translation": None}
"""Fields that do not affect training, and what they are in a run's recipe."""


def run_key(
    recipe: Recipe,
    data: str,
    dataset: Dataset | None = None,
    files: Mapping[str, str] = NOTHING,
) -> str:
    """The identity of a run.

    Args:
        recipe: the system, with its seed; defaults are left out, so that fields added in later
            versions do not invalidate old runs.
        data: the data's fingerprint.
        dataset: the data itself, for the digest of imported features.
        files: digests of its other input files, by recipe field (`Input.name`); the fields
            themselves, which are local paths, then do not count.
    """
    return json_digest(run_identity(recipe, data, dataset, files))[:24]


def run_identity(
    recipe: Recipe,
    data: str,
    dataset: Dataset | None = None,
    files: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """The value that `run_key` is the digest of; it contains no paths.

    Args:
        recipe: this and the others as for `run_key`.
        data: the data's fingerprint.
        dataset: the data itself.
        files: digests of its other input files.
    """
    return {**_described(recipe, data, dataset, files), **_revised(recipe)}


def unrevised_key(recipe: Recipe, data: str, dataset: Dataset | None = None) -> str:
    """The key before files and revisions were part of it.

    Args:
        recipe: the system, with its seed.
        data: the data's fingerprint.
        dataset: the data itself, for the digest of imported features.
    """
    return json_digest(_described(recipe, data, dataset, NOTHING))[:24]


def _described(
    recipe: Recipe, data: str, dataset: Dataset | None, files: Mapping[str, str]
) -> dict[str, Any]:
    dumped = _without_defaults(training_fields(recipe))
    for name in files:
        if name.startswith("transfer.dictionary"):  # perhaps one of several
            dumped["transfer"]["dictionary"] = dictionary_kinds(dumped["transfer"]["dictionary"])
        else:
            _drop(dumped, name.partition(":")[0])
    value = {"format": RUN_FORMAT, "recipe": dumped, "data": data}
    if dataset is not None and recipe.image.feature.startswith(IMPORTED):
        value["features"] = features_digest(dataset, recipe.image.feature)
    return value | ({"files": dict(files)} if files else {})


def _revised(recipe: Recipe) -> dict[str, Any]:
    found = revisions(recipe)
    return {"revisions": found} if found else {}


def _without_defaults(recipe: Recipe) -> dict[str, Any]:
    """The recipe's fields that differ from the default, or from the former default."""
    dumped = recipe.model_dump(mode="json", exclude_defaults=True)
    for path, former in FORMER_DEFAULTS.items():
        section, _, name = path.rpartition(".")
        place, own = dumped, cast(Any, recipe)
        for part in section.split("."):
            place, own = place.setdefault(part, {}), getattr(own, part, None)
        value = getattr(own, name, former)
        if value != former:
            place[name] = value
        else:
            place.pop(name, None)
        if not place:
            _drop(dumped, section)
    # Runs were stored before the fields of an assignment were a section.
    return without_assignment(dumped)


def _drop(value: dict[str, Any], path: str) -> None:
    """Remove a field, and sections that become empty."""
    first, _, rest = path.partition(".")
    below = value.get(first)
    if rest and isinstance(below, dict):
        _drop(below, rest)
    if not rest or below == {}:
        value.pop(first, None)


def group_key(recipe: Recipe, data: str) -> str:
    """The same for all seeds of a run, to estimate durations."""
    changes: dict[str, Section] = {"training": recipe.training.model_copy(update={"seed": 0})}
    if recipe.transfer is not None:
        # Every seed has its own source.
        changes["transfer"] = recipe.transfer.model_copy(update={"source": "run"})
    return run_key(recipe.model_copy(update=changes), data)


def features_digest(dataset: Dataset, feature: str) -> str | None:
    """Digest of imported features; extracted ones are determined by the images."""
    if not feature.startswith(IMPORTED):
        return None
    name = feature.removeprefix(IMPORTED)
    folder = None if dataset.root is None else dataset.root / "features" / name
    if folder is None or not (folder / META).is_file():
        return None
    return _store_digest(folder, (folder / VECTORS).stat().st_size)


@lru_cache(maxsize=64)
def _store_digest(folder: Path, size: int) -> str:
    refuse_pipes(folder)
    meta, index = ((folder / name).read_bytes() for name in (META, INDEX))
    # Stores of version 0.1.0 have no checksums; importing the same features again is no change.
    index = re.sub(rb', "crc": \d+', b"", index)
    return content_digest([str(size), meta, index, *file_ends(folder / VECTORS)])
