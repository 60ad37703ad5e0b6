"""`polyglance library`: folders of images, kept up to date and searched."""

import json as json_module
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.library_print import print_report
from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError, needed_by

if TYPE_CHECKING:
    from polyglance.library import Library

library_app = typer.Typer(
    name="library",
    help="Manage libraries: image folders with their embeddings, kept up to date.",
    no_args_is_help=True,
)
Folder = Annotated[Path, typer.Argument(metavar="LIBRARY", help="Folder of the library.")]
Places = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders or files.")]
Model = Annotated[
    Path | None, typer.Option(help="New location of the exported model, if it was moved.")
]


def open_library(folder: Path, model: Path | None = None) -> "Library":
    """Open the library in a folder."""
    with needed_by("a library", "library"):
        from polyglance.library import Library

        return Library.open(folder, model)


def sync_and_print(library: "Library", again: bool = True, **options: Any) -> None:
    """Sync a library and print the outcome.

    Args:
        library: to sync.
        again: list unreadable files that were reported before.
        options: of `sync`.
    """
    from polyglance.library import sync

    print_report(sync(library, **options), again)


@library_app.command("create")
def create_command(
    library: Annotated[
        Path, typer.Argument(help="Folder of the new library; must be new or empty.")
    ],
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", help="Image folders to keep up to date."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the included model)."),
    ] = None,
    shards: Annotated[
        str | None,
        typer.Option(help="Output of 'polyglance embed' to open instead of folders."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help=(
                "Where to store the embeddings: milvus://HOST:PORT/COLLECTION "
                "(milvus+tls:// with TLS), or FILE.db for milvus-lite "
                "(default: LanceDB in the library's folder)."
            )
        ),
    ] = None,
) -> None:
    """Create a library and add the images of folders."""
    with needed_by("a library", "library"):
        from polyglance.library import Library
        from polyglance.library.registered import register
        from polyglance.library.syncing.places import add_places, check_places
    check_places(folders or [])
    if shards is not None and (folders or store):
        raise PolyglanceError("pass either folders, or --shards without --store")
    if shards is not None:
        made = Library.of_shards(library, shards, model)
    else:
        made = Library.create(library, model, store)
    register(made.folder)
    if folders:
        add_places(made, folders)
    typer.echo(f"library: {printable(made.folder)}")
    if shards is not None:
        from polyglance.library import sync

        print_report(replace(sync(made), added=made.store.count(), unchanged=0))
    elif folders:
        sync_and_print(made)


@library_app.command("add")
def add_command(library: Folder, paths: Places, model: Model = None) -> None:
    """Add more folders or files to a library."""
    from polyglance.library.syncing.places import add_places

    opened = open_library(library, model)
    add_places(opened, paths)
    sync_and_print(opened)


@library_app.command("sync")
def sync_command(
    library: Folder,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Also remove the images of missing and empty folders."),
    ] = False,
    model: Model = None,
) -> None:
    """Bring a library up to date: new, changed, moved and deleted images."""
    sync_and_print(open_library(library, model), prune=prune)


@library_app.command("remove")
def remove_command(library: Folder, paths: Places) -> None:
    """Remove folders or files from a library; the files themselves are not touched."""
    from polyglance.library.syncing.places import remove_places

    opened = open_library(library)
    remove_places(opened, paths)
    sync_and_print(opened, again=False)


@library_app.command("reembed")
def reembed_command(
    library: Folder,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the included model)."),
    ] = None,
) -> None:
    """Re-embed a library with another model; if interrupted, run again to resume."""
    from polyglance.library.tasks.reembed import reembed

    print_report(reembed(open_library(library), model))


@library_app.command("info")
def info_command(
    library: Folder, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show a library's images, folders, model and size."""
    from polyglance.library.tasks.info import library_info

    found = library_info(open_library(library))
    if json:
        typer.echo(json_module.dumps(asdict(found), indent=2))
        return
    for line in found.lines():
        typer.echo(printable(line))
