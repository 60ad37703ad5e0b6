"""`polyglance data merge`: merge datasets that share images."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.data import Images
from polyglance.cli.options import ALL, listed, naming_options


def merge_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output dataset folder.")],
    sources: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Two or more dataset folders.")
    ],
    lists: Annotated[
        Path | None,
        typer.Option(help="Folder with train.txt, val.txt and test.txt, which define the splits."),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(help="Languages of the captions to keep, such as en,zh,ja (default: all)."),
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Leave out images that are in one dataset only.")
    ] = False,
    images: Annotated[Images, typer.Option(help="How to put images into OUT.")] = Images.symlink,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing OUT.")] = False,
) -> None:
    """Merge datasets that share images: each image gets the captions of all of them.

    Images are matched by name, or by their number in COCO or Flickr names. If splits differ, the
    first dataset's counts.
    """
    from polyglance.vision.extraction.merge import merge_folders

    codes = None if languages is None else listed(languages, "--languages", ALL)
    with naming_options():
        found = merge_folders(out, sources, lists, codes, shared, images.value, force)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{out}: {len(found.images)} images, {len(found.sources)} image files")
