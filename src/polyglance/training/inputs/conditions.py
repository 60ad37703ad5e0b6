"""Data conditions of a recipe: which captions of a split a run trains on."""

import numpy as np

from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import DataRecipe


def select_captions(
    table: CaptionTable, recipe: DataRecipe, seed: int, own_images: bool = False
) -> np.ndarray:
    """Rows of a table [m], ascending, that satisfy the recipe's conditions.

    Args:
        table: the captions.
        recipe: of the data.
        seed: of the random selection.
        own_images: the compat switch `halves`: every language selects its images independently, so
            that neither overlap nor disjointness holds (a bug in Kádár et al. 2018's code).
    """
    language = np.array(table.languages)
    keep = _of_kinds(table, language, recipe)
    if recipe.languages is not None:
        # The table also has the languages of `complete`, which may not be trained on.
        keep &= np.isin(language, recipe.languages)
    if recipe.complete is not None:
        keep &= np.isin(table.image, _complete(table, language, keep, recipe.complete))
    codes = sorted(set(language[keep].tolist()))
    generator = np.random.default_rng([seed, 101])
    if recipe.images is not None or recipe.assignment == "disjoint":
        images = np.unique(table.image[keep])
        parts = _assign(images, codes, recipe, generator, own_images)
        for code in codes:
            keep &= (language != code) | np.isin(table.image, parts[code])
    rows = np.flatnonzero(keep)
    if recipe.captions_per_image is not None:
        rows = _some_captions(table, language, rows, recipe.captions_per_image, generator)
    return rows


def _of_kinds(table: CaptionTable, language: np.ndarray, recipe: DataRecipe) -> np.ndarray:
    kinds = np.array(table.kinds)
    if recipe.kinds is None:
        return np.ones(len(table), bool)
    if isinstance(recipe.kinds, list):
        return np.isin(kinds, recipe.kinds)
    keep = np.ones(len(table), bool)
    for code, wanted in recipe.kinds.items():
        keep &= (language != code) | np.isin(kinds, wanted)
    return keep


def _complete(
    table: CaptionTable, language: np.ndarray, keep: np.ndarray, wanted: list[str]
) -> np.ndarray:
    """Images with a caption in every wanted language.

    For a language that is trained on, only the kept kinds count; for another, any kind.
    """
    trained = set(language[keep].tolist())
    images = np.unique(table.image)
    for code in wanted:
        mine = (language == code) & (keep if code in trained else True)
        images = np.intersect1d(images, table.image[mine])
    if not len(images):
        raise PolyglanceError(f"data.complete: no image has captions in {', '.join(wanted)}")
    return images


def _assign(
    images: np.ndarray,
    codes: list[str],
    recipe: DataRecipe,
    generator: np.random.Generator,
    own_images: bool,
) -> dict[str, np.ndarray]:
    """The images of each language."""
    disjoint = recipe.assignment == "disjoint"
    count = _count(recipe.images, len(images), len(codes) if disjoint else 1)
    if own_images:
        return {code: generator.permutation(images)[:count] for code in codes}
    order = generator.permutation(images)
    starts = [index * count if disjoint else 0 for index in range(len(codes))]
    return {code: order[start : start + count] for code, start in zip(codes, starts, strict=True)}


def _count(wanted: int | float | None, available: int, parts: int) -> int:
    """Images per part; more than available is an error.

    Parts whose shares sum to at most 1 always fit: rounding up does not make them too large.
    """
    if wanted is None:
        return available // parts
    count = wanted if isinstance(wanted, int) else round(wanted * available)
    if isinstance(wanted, float) and wanted * parts <= 1:
        count = min(count, available // parts)
    if count * parts > available or not count:
        raise PolyglanceError(
            f"data.images={wanted}: cannot take {parts} part{'s' * (parts > 1)} of {count} images "
            f"from {available}"
        )
    return count


def _some_captions(
    table: CaptionTable,
    language: np.ndarray,
    rows: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """At most `count` random captions per image and language."""
    rows = generator.permutation(rows)
    order = np.lexsort((language[rows], table.image[rows]))  # stable: random within a group
    rows = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (table.image[rows][1:] != table.image[rows][:-1]) | (
        language[rows][1:] != language[rows][:-1]
    )
    group = np.cumsum(new) - 1
    place = np.arange(len(rows)) - np.flatnonzero(new)[group]
    return np.sort(rows[place < count])
