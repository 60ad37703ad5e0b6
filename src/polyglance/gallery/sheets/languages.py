"""A sheet about one image, searched for with a caption in every language."""

from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.data import CaptionedImage, Dataset
from polyglance.errors import PolyglanceError
from polyglance.gallery.exact import find
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.query import Query, check_query
from polyglance.gallery.sheets.sheet import SheetRow

if TYPE_CHECKING:
    from polyglance.models import Model


def choose_queries(
    model: "Model", part: Dataset, readable: set[Path]
) -> tuple[CaptionedImage, list[Query]]:
    """The first image with captions in the most languages, and one caption in each.

    They are translations of one sentence if the data has such, else of each language's best kind.

    Args:
        model: to query.
        part: images with captions.
        readable: files of the images to choose from.
    """
    translated = len(part.captions(kinds=["translation"])) > 0
    best: tuple[CaptionedImage, list[Query]] | None = None
    for entry in part.images:
        if part.path(entry) not in readable:
            continue
        queries = _queries(model, part, entry, translated)
        if queries and (best is None or len(queries) > len(best[1])):
            best = entry, queries
    if best is None:
        raise PolyglanceError(f"{part.name}: no image has a caption with words the model knows")
    return best


def _queries(model: "Model", part: Dataset, entry: CaptionedImage, translated: bool) -> list[Query]:
    queries = []
    for code in sorted(set(entry.captions) & set(model.languages)):
        kind = "translation" if translated else part.best_kind(code)
        try:
            queries += [check_query(model, text, code) for text in entry.captions[code][kind][:1]]
        except (KeyError, PolyglanceError):  # not of this kind, or only unknown words
            continue
    return queries


def find_rows(
    model: "Model", gallery: Gallery, queries: list[Query], right: Path, shown: int
) -> list[SheetRow]:
    """A row of the sheet per query; if the right image is not shown, a note has its rank.

    Args:
        model: encodes the queries.
        gallery: of its images.
        queries: captions of one image.
        right: the file of that image.
        shown: number of images of a row.
    """
    rows = []
    for result in find(model, gallery, queries, len(gallery)):
        query, hits = result.query, result.hits
        rank = next(hit.rank for hit in hits if right in hit.paths)
        note = f"the right image has rank {rank}" if rank > shown else None
        rows.append(SheetRow(query.text, hits[:shown], query.language, {right}, note))
    return rows
