"""`polyglance library`: images of folders, kept current and searched."""

import json as json_module
from dataclasses import asdict
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
    help="Libraries: images of folders with their embeddings, kept current.",
    no_args_is_help=True,
)
Folder = Annotated[Path, typer.Argument(metavar="LIBRARY", help="The library's folder.")]
Places = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders or files.")]
Model = Annotated[
    Path | None, typer.Option(help="The exported model, where it was moved since the last time.")
]


def open_library(folder: Path, model: Path | None = None) -> "Library":
    """The library of a folder."""
    with needed_by("a library", "library"):
        from polyglance.library import Library

        return Library.open(folder, model)


def sync_and_print(library: "Library", **options: Any) -> None:
    """Sync a library and say what came of it."""
    from polyglance.library import sync

    print_report(sync(library, **options))


@library_app.command("create")
def create_command(
    library: Annotated[Path, typer.Argument(help="Folder to make; it must be new or empty.")],
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", help="Folders of images to keep current."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the one that comes with polyglance)."),
    ] = None,
    shards: Annotated[
        str | None,
        typer.Option(help="What 'polyglance embed' wrote, opened as it is, in place of folders."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="milvus://HOST:PORT/COLLECTION, or FILE.db for milvus-lite, keeps the embeddings "
            "(default: LanceDB in the library's folder)."
        ),
    ] = None,
) -> None:
    """Make a library, and put the images of folders in."""
    with needed_by("a library", "library"):
        from polyglance.library import Library
        from polyglance.library.registered import register
        from polyglance.library.syncing.places import add_places, check_places
    check_places(folders or [])
    if shards is not None and (folders or store):
        raise PolyglanceError("a library has folders, or --shards without --store; name one")
    if shards is not None:
        made = Library.of_shards(library, shards, model)
    else:
        made = Library.create(library, model, store)
    register(made.folder)
    if folders:
        add_places(made, folders)
    typer.echo(f"library: {printable(made.folder)}")
    if folders or shards:
        sync_and_print(made)


@library_app.command("add")
def add_command(library: Folder, paths: Places, model: Model = None) -> None:
    """Take further folders or files into a library."""
    from polyglance.library.syncing.places import add_places

    opened = open_library(library, model)
    add_places(opened, paths)
    sync_and_print(opened)


@library_app.command("sync")
def sync_command(
    library: Folder,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Also take out the images of missing and empty folders."),
    ] = False,
    model: Model = None,
) -> None:
    """Bring a library up to date: new, changed, moved and deleted images."""
    sync_and_print(open_library(library, model), prune=prune)


@library_app.command("remove")
def remove_command(library: Folder, paths: Places) -> None:
    """Take folders or files out of a library; the files themselves are left alone."""
    from polyglance.library.syncing.places import remove_places

    opened = open_library(library)
    remove_places(opened, paths)
    sync_and_print(opened)


@library_app.command("reembed")
def reembed_command(
    library: Folder,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the one that comes with polyglance)."),
    ] = None,
) -> None:
    """Embed a library anew, with another model; stopped, it goes on when it is called again."""
    from polyglance.library.tasks.reembed import reembed

    print_report(reembed(open_library(library), model))


@library_app.command("info")
def info_command(
    library: Folder, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """What a library has: images, folders, model, size."""
    from polyglance.library.tasks.info import library_info

    found = library_info(open_library(library))
    if json:
        typer.echo(json_module.dumps(asdict(found), indent=2))
        return
    for line in found.lines():
        typer.echo(printable(line))
