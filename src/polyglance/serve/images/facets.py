"""Facets: the folders, tags, languages of captions, dates and sizes to filter by."""

from collections.abc import Mapping

import numpy as np

from polyglance.serve.images.collection import Collection
from polyglance.serve.shapes import Count, Dates, Facets

FOLDERS, TAGS = 2000, 500
"""Largest numbers listed; the most frequent are kept."""


def facets(collection: Collection) -> Facets:
    """The facets of a collection, with the number of images."""
    facts = collection.facts
    folders, more_folders = _counts(_folders(collection), FOLDERS)
    tags, more_tags = _counts({name: len(rows) for name, rows in facts.tags.items()}, TAGS)
    languages = {name: len(rows) for name, rows in facts.languages.items() if name}
    known = facts.taken[~np.isnat(facts.taken)]
    dates = None
    if len(known):
        days = (str(day.astype("datetime64[D]")) for day in (known.min(), known.max()))
        dates = Dates(**dict(zip(("from", "to"), days, strict=True)), pictures=len(known))
    years, counts = np.unique(known.astype("datetime64[Y]").astype(str), return_counts=True)
    return Facets(
        pictures=len(collection),
        folders=sorted(folders, key=lambda one: one.name),
        tags=tags,
        caption_languages=_counts(languages, len(languages))[0],
        dates=dates,
        years=[
            Count(name=str(year), pictures=int(n)) for year, n in zip(years, counts, strict=True)
        ],
        more=more_folders or more_tags,
    )


def _counts(found: Mapping[str, int], most: int) -> tuple[list[Count], bool]:
    """The most frequent first, and whether some were left out."""
    ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return [Count(name=name, pictures=count) for name, count in ordered[:most]], len(found) > most


def _folders(collection: Collection) -> dict[str, int]:
    """Every folder with the number of images in or below it; equal files count once."""
    names, many = collection.names, max(1, len(collection))
    pairs = np.unique(names.codes * many + collection.place_of_row)
    starts = np.searchsorted(pairs, np.arange(len(names.folders) + 1) * many)
    inside: dict[str, list[np.ndarray]] = {}
    for code, folder in enumerate(names.folders):
        places = pairs[starts[code] : starts[code + 1]] % many
        while folder:
            inside.setdefault(folder, []).append(places)
            folder = folder.rpartition("/")[0]
    return {
        folder: len(parts[0]) if len(parts) == 1 else len(np.unique(np.concatenate(parts)))
        for folder, parts in inside.items()
    }
