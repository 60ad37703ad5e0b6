"""Data conditions as recipe fields: which of a split's captions a run trains on."""

import numpy as np

from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import DataRecipe


def select_captions(
    table: CaptionTable, recipe: DataRecipe, seed: int, own_photos: bool = False
) -> np.ndarray:
    """Rows of `table` [m], ascending, that the recipe's conditions keep.

    `own_photos` is the compat switch `halves`: every language draws its photographs on its own,
    so that neither overlap nor disjointness holds (spec §2.2, bug 2).
    """
    language = np.array(table.languages)
    keep = _of_kinds(table, language, recipe)
    if recipe.languages is not None:
        # The table also has the languages of `complete`, which need not be trained on.
        keep &= np.isin(language, recipe.languages)
    if recipe.complete is not None:
        keep &= np.isin(table.photo, _complete(table, language, keep, recipe.complete))
    codes = sorted(set(language[keep].tolist()))
    generator = np.random.default_rng([seed, 101])
    if recipe.images is not None or recipe.assignment == "disjoint":
        photos = np.unique(table.photo[keep])
        parts = _assign(photos, codes, recipe, generator, own_photos)
        for code in codes:
            keep &= (language != code) | np.isin(table.photo, parts[code])
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
    """Photographs with a caption in every wanted language.

    A language that is trained on counts with its kept kinds only, another with any kind.
    """
    trained = set(language[keep].tolist())
    photos = np.unique(table.photo)
    for code in wanted:
        mine = (language == code) & (keep if code in trained else True)
        photos = np.intersect1d(photos, table.photo[mine])
    if not len(photos):
        raise PolyglanceError(f"data.complete: no photograph has captions in {', '.join(wanted)}")
    return photos


def _assign(
    photos: np.ndarray,
    codes: list[str],
    recipe: DataRecipe,
    generator: np.random.Generator,
    own_photos: bool,
) -> dict[str, np.ndarray]:
    """The photographs of each language."""
    disjoint = recipe.assignment == "disjoint"
    count = _count(recipe.images, len(photos), len(codes) if disjoint else 1)
    if own_photos:
        return {code: generator.permutation(photos)[:count] for code in codes}
    order = generator.permutation(photos)
    starts = [index * count if disjoint else 0 for index in range(len(codes))]
    return {code: order[start : start + count] for code, start in zip(codes, starts, strict=True)}


def _count(wanted: int | float | None, available: int, parts: int) -> int:
    """Photographs of each part; more than there are is an error."""
    if wanted is None:
        return available // parts
    count = wanted if isinstance(wanted, int) else round(wanted * available)
    if count * parts > available or not count:
        raise PolyglanceError(
            f"data.images={wanted}: {parts} part{'s' * (parts > 1)} of {count} photographs cannot "
            f"come from {available}"
        )
    return count


def _some_captions(
    table: CaptionTable,
    language: np.ndarray,
    rows: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """At most `count` random captions of each photograph and language."""
    rows = generator.permutation(rows)
    order = np.lexsort((language[rows], table.photo[rows]))  # stable: random within a group
    rows = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (table.photo[rows][1:] != table.photo[rows][:-1]) | (
        language[rows][1:] != language[rows][:-1]
    )
    group = np.cumsum(new) - 1
    place = np.arange(len(rows)) - np.flatnonzero(new)[group]
    return np.sort(rows[place < count])
