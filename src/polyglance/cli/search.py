"""`polyglance search`: rank pictures for sentences."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.translation import TRANSLATOR, translate_queries
from polyglance.errors import PolyglanceError
from polyglance.files import has_file

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.search import Gallery, Hit, Query
    from polyglance.search.gallery import Problems


def search_command(
    model: Annotated[Path, typer.Argument(help="A run of 'polyglance train'.")],
    images: Annotated[
        str, typer.Argument(help="Folder of pictures, dataset folder, or 'generated'.")
    ],
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What to look for.")],
    top: Annotated[int, typer.Option(min=1, help="Pictures per query.")] = 10,
    language: Annotated[
        str | None, typer.Option(help="Code of the queries' language; by default the script tells.")
    ] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a contact sheet as PNG.")] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result as JSON; - is stdout.")
    ] = None,
    font: Annotated[
        list[Path] | None, typer.Option(help="Font file for the sheet's texts; may be repeated.")
    ] = None,
    translator: Annotated[
        str | None, typer.Option(help=f"Translate the queries first: {TRANSLATOR}.")
    ] = None,
    translate_to: Annotated[
        str | None, typer.Option(help="To this language (default: en if the model knows it).")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Rank pictures for a sentence in any language the model knows, or that can be translated."""
    _check_output(sheet)
    _check_output(Path(json) if json not in (None, "-") else None)
    for file in font or []:
        if not has_file(file):
            raise PolyglanceError(f"{file}: no such font file")
    from polyglance.models import Model
    from polyglance.search import check_queries, search

    loaded = Model.load(model)
    if translator is not None:
        queries, language = translate_queries(
            loaded, queries, language, translator, translate_to, cache
        )
    elif translate_to is not None:
        raise PolyglanceError("--translate-to needs a --translator")
    checked = check_queries(loaded, queries, language)
    gallery = _gallery(loaded, images, cache)
    if sheet is not None and not gallery.pictures:
        raise PolyglanceError(
            f"{images}: has features and no pictures for a contact sheet; leave out --sheet"
        )
    for query in checked:
        if query.warning:
            typer.echo(f"note: {query.warning}", err=True)
    _print_problems(gallery.problems)
    found = search(loaded, gallery, checked, top)
    if json != "-":
        _print_hits(checked, found)
    if json is not None:
        _write_json(json, _as_dict(model, images, gallery, checked, found))
    if sheet is not None:
        _write_sheet(sheet, checked, found, font or [])


def _check_output(path: Path | None) -> None:
    """Fail before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise PolyglanceError(f"{path}: is a folder; name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PolyglanceError(f"{path.parent}: cannot be made ({error.strerror})") from None


def _gallery(model: "Model", source: str, cache: Path | None) -> "Gallery":
    """The pictures a dataset names, or those below a plain folder."""
    from polyglance.data import load_dataset
    from polyglance.search import gallery_of_dataset, gallery_of_files
    from polyglance.vision.images import list_images

    folder = Path(source)
    captioned = any(has_file(folder / f"captions.jsonl{end}") for end in ("", ".gz"))
    if not folder.is_dir() or captioned:
        return gallery_of_dataset(model, load_dataset(source), cache)
    paths = list_images(folder)
    if not paths:
        raise PolyglanceError(f"{folder}: there are no pictures in this folder")
    return gallery_of_files(model, paths, cache)


def _name(path: Path) -> str:
    """The path as text, also where a file's name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _print_problems(problems: "Problems") -> None:
    if problems:
        typer.echo(f"skipped {len(problems)}:", err=True)
    for path, reason in problems:
        typer.echo(f"  {_name(path)}: {reason}", err=True)


def _print_hits(queries: Sequence["Query"], found: Sequence[Sequence["Hit"]]) -> None:
    """Tables on a terminal; on a pipe `score<TAB>path`, with several queries also the query."""
    if sys.stdout.isatty():
        for query, hits in zip(queries, found, strict=True):
            _print_table(query, hits)
        return
    for query, hits in zip(queries, found, strict=True):
        last = f"\t{query.text}" if len(queries) > 1 else ""
        for hit in hits:
            typer.echo(f"{hit.score:.4f}\t{_name(hit.path)}{last}")


def _print_table(query: "Query", hits: Sequence["Hit"]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(query.text), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("picture", overflow="fold")
    for hit in hits:
        table.add_row(str(hit.rank), f"{hit.score:.4f}", escape(_name(hit.path)))
    Console().print(table)


def _as_dict(
    model: Path,
    images: str,
    gallery: "Gallery",
    queries: Sequence["Query"],
    found: Sequence[Sequence["Hit"]],
) -> dict[str, Any]:
    rows = [
        {
            "query": query.text,
            "language": query.language,
            "unknown_words": list(query.unknown),
            "hits": [
                {"rank": hit.rank, "score": hit.score, "path": _name(hit.path)} for hit in hits
            ],
        }
        for query, hits in zip(queries, found, strict=True)
    ]
    skipped = [{"path": _name(path), "reason": reason} for path, reason in gallery.problems]
    return {
        "model": str(model),
        "images": images,
        "pictures": len(gallery),
        "skipped": skipped,
        "queries": rows,
    }


def _write_json(target: str, value: dict[str, Any]) -> None:
    if target == "-":
        import json

        typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return
    from polyglance.files import write_json

    write_json(Path(target), value)


def _write_sheet(
    path: Path, queries: Sequence["Query"], found: Sequence[Sequence["Hit"]], fonts: list[Path]
) -> None:
    from polyglance.search.fonts import font_for
    from polyglance.search.sheet import Row, write_sheet

    for query in queries:
        if font_for(query.text, 19, fonts) is None:
            typer.echo(
                f"note: no font here shows '{query.text}' on the sheet; install one, such as "
                "Noto Sans, or name it with --font",
                err=True,
            )
    pairs = zip(queries, found, strict=True)
    write_sheet(path, [Row(query.text, hits, query.language) for query, hits in pairs], None, fonts)
    typer.echo(f"contact sheet: {path}", err=True)
