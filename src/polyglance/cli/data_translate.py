"""`polyglance data translate`: translate captions into more languages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.data import Images
from polyglance.cli.options import listed, naming_options
from polyglance.cli.translation import TRANSLATOR

if TYPE_CHECKING:
    from polyglance.translation.fill import Filled


def translate_command(
    source: Annotated[
        str, typer.Argument(metavar="DATASET", help="Dataset folder, table or 'generated'.")
    ],
    to: Annotated[str, typer.Option(help="Target languages, such as pt,fr.")],
    translator: Annotated[str, typer.Option(help=TRANSLATOR)],
    out: Annotated[Path, typer.Option(help="Output dataset folder.")],
    from_: Annotated[str, typer.Option("--from", help="Source languages.")] = "en",
    kinds: Annotated[
        str, typer.Option(help="Kinds of captions to translate.")
    ] = "independent,translation",
    captions: Annotated[
        int | None, typer.Option(min=1, help="Captions per image to translate (default: all).")
    ] = None,
    beside: Annotated[
        bool,
        typer.Option(
            "--beside",
            help="Also translate for images that already have captions in the language.",
        ),
    ] = False,
    images: Annotated[Images, typer.Option(help="How to put images into OUT.")] = Images.symlink,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing OUT.")] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Translate captions into languages that images lack; existing captions do not change.

    Translations are cached as they are made: an interrupted run continues where it stopped.
    """
    from polyglance.translation.dataset import translate_dataset

    with naming_options():
        made = translate_dataset(
            source,
            out,
            translator,
            listed(to, "--to"),
            listed(from_, "--from"),
            listed(kinds, "--kinds"),
            captions,
            beside,
            images.value,
            force,
            cache,
        )
    for note in made.notes:
        typer.echo(f"note: {note}", err=True)
    for one in made.filled:
        typer.echo(_line(one))
    typer.echo(f"{out}: {made.images} images")


def _line(one: "Filled") -> str:
    parts = [f"{one.captions} captions translated for {one.images} images"]
    parts += [f"{one.kept} had captions"] if one.kept else []
    parts += [f"{one.lacking} without a translation"] if one.lacking else []
    return f"{one.source} → {one.language}: {', '.join(parts)}"
