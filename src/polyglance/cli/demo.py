"""`polyglance demo`: search photos in many languages, or train a small model."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.demo_queries import GENERAL_QUERIES, PHOTO_QUERIES
from polyglance.cli.demo_train import JSON, MARK, SHEET, check_folder, train_demo
from polyglance.cli.search_captions import print_unreadable, print_unshown
from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.gallery import Gallery, Hit, Query, QueryResult

SHOWN = 5


def demo_command(
    out: Annotated[
        Path, typer.Option(help="Output folder for the contact sheet and other files.")
    ] = Path("demo"),
    images: Annotated[
        Path | None,
        typer.Option(
            help="Search this folder (default: the sample photos of scikit-image and scikit-learn)."
        ),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train a small model on generated data instead.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(help="With --train: dataset folder, CSV/TSV/Parquet, or 'generated'."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="With --train: number of epochs (default: 4).")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Search sample photos in many languages with the included model.

    With --train (or --data, --epochs), train a small multilingual model on generated data
    instead, evaluate it and search with it.
    """
    wanted = train or data is not None or epochs is not None
    if wanted and images is not None:
        raise PolyglanceError("--images cannot be combined with --train, --data or --epochs")
    if not wanted and not _has_model() and images is None:
        typer.echo(
            "this copy of polyglance does not include a model; training a small one on generated "
            "data instead (--train)"
        )
        wanted = True
    if wanted:
        train_demo(out, data or "generated", epochs or 4, cache)
    else:
        _ask(out, images, cache)


def _has_model() -> bool:
    from polyglance.runtime import shipped

    try:
        return shipped().is_dir()
    except PolyglanceError:
        return False


def _ask(out: Path, images: Path | None, cache: Path | None) -> None:
    """Search images and write a sheet with the results in every language."""
    from polyglance.data.photographs import photographs
    from polyglance.gallery import gallery_of_files, open_gallery
    from polyglance.gallery.exact import find, load_model
    from polyglance.storage.files import write_json

    started = time.monotonic()
    check_folder(out)
    model = load_model(None)
    known = {} if images is not None else photographs()
    gallery: Gallery
    if images is not None:
        gallery = open_gallery(model, images, cache)
    else:
        gallery = gallery_of_files(model, list(known), cache)
        typer.echo(f"{len(gallery)} sample photos from pip packages:")
        for path, one in known.items():
            typer.echo(f"    {one.name:<10} {path.name} ({one.licence})")
    right = {one.name: path for path, one in known.items()}
    texts = (
        [(*pair, None) for pair in GENERAL_QUERIES] if images is not None else list(PHOTO_QUERIES)
    )
    queries, targets = _queries(model, texts, right)
    found = find(model, gallery, queries, len(gallery), cache=cache)
    print_unreadable(gallery)
    _print(found, targets)
    write_json(out / MARK, {"photographs": True})
    write_json(out / JSON, [_as_dict(result) for result in found])
    _write_sheet(out / SHEET, found, targets, len(gallery))
    typer.echo(f"done in {time.monotonic() - started:.0f} s; sheet: {printable(out / SHEET)}")
    typer.echo('next, with your own images: polyglance search ~/Pictures "zwei Hunde im Schnee"')


def _queries(
    model: Any, texts: Sequence[tuple[str, str, str | None]], right: dict[str, Path]
) -> tuple[list["Query"], list[Path | None]]:
    """The queries that the model can encode, without specifying their language."""
    from dataclasses import replace

    from polyglance.gallery import check_query

    queries, targets, unread = [], [], []
    for code, text, name in texts:
        if name is not None and name not in right:  # its package is not installed
            continue
        try:
            queries.append(replace(check_query(model, text), language=code))
        except PolyglanceError:
            unread.append(code)
            continue
        targets.append(right.get(name or ""))
    if unread:
        typer.echo(f"the model cannot read the queries in {', '.join(unread)}; they are left out")
    if not queries:
        raise PolyglanceError("the model can read none of the demo's queries")
    return queries, targets


def _print(found: Sequence["QueryResult"], targets: Sequence[Path | None]) -> None:
    hits = 0
    for result, target in zip(found, targets, strict=True):
        best, query = result.hits[0], result.query
        rank = next((hit.rank for hit in result.hits if target in hit.paths), None)
        hits += rank == 1
        note = "" if rank is None else f", the right one has rank {rank}"
        typer.echo(f"    {query.language}  {query.text}: {printable(best.path.name)}{note}")
    if any(targets):
        typer.echo(f"{hits} of {len(found)} queries rank the right photo first")


def _as_dict(result: "QueryResult") -> dict[str, Any]:
    value = result.as_dict()
    return {**value, "hits": value["hits"][:SHOWN]}


def _matching(result: "QueryResult") -> Sequence["Hit"]:
    """The images that match, or all if the model has no threshold."""
    if result.cutoff is None:
        return result.hits
    return [hit for hit in result.hits if hit.score >= result.cutoff.least]


def _write_sheet(
    path: Path, found: Sequence["QueryResult"], targets: Sequence[Path | None], count: int
) -> None:
    from polyglance.gallery.exact import CLOSEST
    from polyglance.gallery.results import NOTHING
    from polyglance.gallery.sheets.sheet import SheetRow, undrawable_texts, write_sheet

    rows = []
    for result, target in zip(found, targets, strict=True):
        hits, note = _matching(result)[:SHOWN], None
        if not hits:
            hits, note = result.hits[:CLOSEST], f"{NOTHING}; the closest:"
        correct = set() if target is None else {target}
        rows.append(SheetRow(result.query.text, hits, result.query.language, correct, note))
    framed = "; the right one is framed" if any(targets) else ""
    write_sheet(path, rows, f"{count} images, {len(rows)} queries{framed}")
    print_unshown(undrawable_texts([row.text for row in rows], ()))
