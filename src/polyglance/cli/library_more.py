"""`polyglance library watch|duplicates|export|copy`."""

import json as json_module
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.library import Folder, Model, library_app, open_library
from polyglance.cli.library_print import print_report
from polyglance.cli.outputs import check_outputs
from polyglance.core.terminal import counted, path_bytes, printable


@library_app.command("watch")
def watch_command(
    library: Folder,
    poll: Annotated[
        bool, typer.Option("--poll", help="Poll for changes: for network drives.")
    ] = False,
    model: Model = None,
) -> None:
    """Keep a library up to date while its folders change, until Ctrl-C."""
    from polyglance.library.syncing.watch import watch

    opened = open_library(library, model)
    noted: set[str] = set()
    first = True
    for report in watch(opened, poll=poll, tell=lambda text: typer.echo(printable(text), err=True)):
        report.notes = [note for note in report.notes if note not in noted]
        noted.update(report.notes)
        if first or report.eventful:
            typer.echo(datetime.now().strftime("%H:%M:%S "), nl=False)
            print_report(report, again=first)
        first = False


@library_app.command("duplicates")
def duplicates_command(
    library: Folder,
    near: Annotated[
        bool, typer.Option("--near/--exact", help="Also near-duplicates, or only identical files.")
    ] = True,
    similarity: Annotated[
        float, typer.Option(min=-1, max=1, help="Minimum cosine similarity of near-duplicates.")
    ] = 0.95,
    bits: Annotated[
        int,
        typer.Option(
            min=0,
            max=64,
            help="Maximum number of differing bits, of 64, in their perceptual hashes.",
        ),
    ] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List duplicate images; nothing is deleted.

    Each line has the number of the group, 'equal' or 'near', and the path.
    """
    from polyglance.library.tasks.duplicates import find_duplicates

    found = find_duplicates(open_library(library), near, similarity, bits)
    if json:
        typer.echo(json_module.dumps([g.as_dict() for g in found], ensure_ascii=False, indent=2))
        return
    for number, group in enumerate(found, 1):
        for record in group.records:
            kind = "equal" if group.exact else "near"
            typer.echo(f"{number}\t{kind}\t".encode() + path_bytes(Path(record.path)))
    more = sum(len(group.records) - 1 for group in found)
    typer.echo(f"{counted(len(found), 'group')}, {counted(more, 'redundant image')}", err=True)


@library_app.command("export")
def export_command(
    library: Folder,
    out: Annotated[Path, typer.Argument(help="Output file: .parquet, .jsonl or .csv.")],
    vectors: Annotated[
        Path | None,
        typer.Option(help="Also write the embeddings, float32 [n, D], to this .npy file."),
    ] = None,
) -> None:
    """Write a library's metadata; Parquet includes the embeddings."""
    from polyglance.library.tasks.export import check_format, export_library

    check_format(out)
    check_outputs([out, vectors])
    count = export_library(open_library(library), out, vectors)
    typer.echo(f"{counted(count, 'image')}: {printable(out)}", err=True)


@library_app.command("copy")
def copy_command(
    library: Folder,
    copy: Annotated[
        Path, typer.Argument(help="Folder of the copy: a new one, or that of an interrupted copy.")
    ],
    store: Annotated[
        str | None,
        typer.Option(
            help=(
                "Where to store the copy's embeddings: milvus://HOST:PORT/COLLECTION "
                "(milvus+tls:// with TLS), or FILE.db for milvus-lite "
                "(default: LanceDB in its folder)."
            )
        ),
    ] = None,
) -> None:
    """Copy a library, optionally into another store; if interrupted, run again to resume."""
    from polyglance.library.registered import register
    from polyglance.library.tasks.copying import copy_library

    report = copy_library(open_library(library), copy, store)
    register(copy)
    typer.echo(
        f"{counted(report.copied, 'image')} copied, {report.there:,} already there; all "
        f"{report.compared:,} were read back and verified"
    )
