"""What a run depends on, as a digest: the resolved recipe and the content of the data."""

from functools import lru_cache
from pathlib import Path

from polyglance.data.dataset import Dataset
from polyglance.digest import content_digest, file_ends, json_digest
from polyglance.files import refuse_pipes
from polyglance.recipes import Recipe
from polyglance.sections import Section
from polyglance.vision.store import INDEX, META, VECTORS

RUN_FORMAT = 2
"""Raised when a change of the package makes old runs wrong, so that they are trained again."""

IMPORTED = "imported/"


def nameless(recipe: Recipe) -> Recipe:
    """The recipe without what does not change the training, as runs are stored."""
    words = {"name": "study", "paper": "", "summary": ""}
    return recipe.model_copy(update={**words, "translation": None})


def run_key(recipe: Recipe, data: str, dataset: Dataset | None = None) -> str:
    """The identity of a run.

    Args:
        recipe: the system, with its seed; defaults are left out, so that a field that later
            versions add leaves old runs valid.
        data: the data's fingerprint.
        dataset: the data itself, for the digest of features that were imported.
    """
    value = {
        "format": RUN_FORMAT,
        "recipe": nameless(recipe).model_dump(mode="json", exclude_defaults=True),
        "data": data,
    }
    if dataset is not None and recipe.image.feature.startswith(IMPORTED):
        value["features"] = features_digest(dataset, recipe.image.feature)
    return json_digest(value)[:24]


def group_key(recipe: Recipe, data: str) -> str:
    """The same for all seeds of a run: what its duration is estimated from."""
    changes: dict[str, Section] = {"training": recipe.training.model_copy(update={"seed": 0})}
    if recipe.transfer is not None:
        # Every seed has a source of its own.
        changes["transfer"] = recipe.transfer.model_copy(update={"source": "run"})
    return run_key(recipe.model_copy(update=changes), data)


def features_digest(dataset: Dataset, feature: str) -> str | None:
    """Of imported features, which are the data's own; extracted ones follow from the images."""
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
    described = ((folder / name).read_bytes() for name in (META, INDEX))
    return content_digest([str(size), *described, *file_ends(folder / VECTORS)])
