"""`polyglance search`: rank images for sentences, or captions for images."""

import json as json_module
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.outputs import check_outputs
from polyglance.cli.search_captions import (
    Outputs,
    print_captions,
    print_unreadable,
    print_unshown,
)
from polyglance.cli.translation import TRANSLATOR
from polyglance.errors import OutsideWarning, PolyglanceError, PolyglanceWarning
from polyglance.files import has_file
from polyglance.terminal import path_bytes, printable

if TYPE_CHECKING:
    from polyglance.gallery import QueryResult, SearchResults


def search_command(
    model: Annotated[Path, typer.Argument(help="A run of 'polyglance train'.")],
    images: Annotated[
        str,
        typer.Argument(
            help="Folder of images, dataset folder, or 'generated'; with --captions an image."
        ),
    ],
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY...",
            help="What to look for: sentences, or image files; with --captions further images.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Images per query, or captions.")] = 10,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of the queries or captions, such as de; by default the script decides."
        ),
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rank these captions for images instead: a text file with one caption per line, a "
            "CSV/TSV/Parquet with a column 'caption', or a dataset folder.",
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="With a dataset in --captions: only those of this split.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a contact sheet: .png, .jpg, .webp, .pdf …")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the result as JSON; - is stdout.")
    ] = None,
    null: Annotated[
        bool,
        typer.Option(
            "--null",
            "-0",
            help="Print paths alone, exact to the byte, with a zero byte behind each: xargs -0.",
        ),
    ] = False,
    font: Annotated[
        list[Path] | None, typer.Option(help="Font file for the sheet's texts; may be repeated.")
    ] = None,
    translator: Annotated[
        str | None, typer.Option(help=f"Translate the queries first: {TRANSLATOR}.")
    ] = None,
    translate_to: Annotated[
        str | None,
        typer.Option(
            help="To this language (default: en if the model knows it), or with --consistency to "
            "these (default: all of the model)."
        ),
    ] = None,
    consistency: Annotated[
        bool,
        typer.Option(
            "--consistency",
            help="Ask in all languages of the model and join the scores: by weights that "
            "'evaluate --keep-weights' kept, else by their mean.",
        ),
    ] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Rank images for a sentence in any language the model knows, or that can be translated.

    With --captions FILE it is the other way round: captions are ranked for images.
    """
    if null and json == "-":
        raise PolyglanceError("--null and --json - both write to stdout; leave out one")
    check_outputs([sheet, Path(json) if json not in (None, "-") else None])
    if sheet is not None:
        from polyglance.gallery.sheet_file import sheet_format

        sheet_format(sheet)
    for file in font or []:
        if not has_file(file):
            raise PolyglanceError(f"{file}: no such font file")
    if captions is not None:
        if null:
            raise PolyglanceError("--null prints images; it does not go with --captions")
        if translator or translate_to or consistency:
            raise PolyglanceError("--captions goes without --translator and --consistency")
        output = Outputs(json, sheet, font or [])
        places = [images, *(queries or [])]
        print_captions(model, places, captions, top, language, split, cache, output)
        return
    if split is not None:
        raise PolyglanceError("--split goes with --captions DATASET")
    if not queries:
        raise PolyglanceError("there is no query; give at least one sentence, or --captions FILE")
    from polyglance.gallery import search

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)  # printed below
        warnings.simplefilter("always", OutsideWarning)
        found = search(
            model,
            images,
            queries,
            top=top,
            language=language,
            translator=translator,
            translate_to=translate_to,
            consistency=consistency,
            cache=cache,
        )
    for note in found.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    print_unreadable(found.gallery)
    if sheet is not None:
        _write_sheet(found, sheet, font or [])
    if json == "-":
        typer.echo(json_module.dumps(found.as_dict(), ensure_ascii=False, indent=2))
        return
    _print_hits(found, null)
    if json is not None:
        found.write_json(Path(json))


def _print_hits(found: "SearchResults", null: bool) -> None:
    """Tables on a terminal; on a pipe `score<TAB>path`, with several queries also the query.

    With `null`, paths alone, exact to the byte, with a zero byte behind each.
    """
    if sys.stdout.isatty() and not null:
        for result in found:
            _print_table(result)
        return
    for result in found:
        last = f"\t{printable(result.query.text)}" if len(found) > 1 else ""
        for hit in result.hits:
            if null:
                typer.echo(os.fsencode(hit.path) + b"\0", nl=False)
            else:
                score = f"{hit.score:.4f}\t".encode()
                typer.echo(score + path_bytes(hit.path) + last.encode())


def _print_table(result: "QueryResult") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    title = escape(printable(result.query.text))
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("image", overflow="fold")
    for hit in result.hits:
        names = "\n= ".join(printable(path) for path in hit.paths)
        table.add_row(str(hit.rank), f"{hit.score:.4f}", escape(names))
    Console().print(table)


def _write_sheet(found: "SearchResults", path: Path, fonts: list[Path]) -> None:
    print_unshown(found.write_sheet(path, fonts=fonts))
    typer.echo(f"contact sheet: {printable(path)}", err=True)
