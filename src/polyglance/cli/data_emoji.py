"""`polyglance data emoji`: a dataset of emoji with their names in many languages."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.options import ALL, listed
from polyglance.errors import PolyglanceError


def emoji_command(
    out: Annotated[Path, typer.Argument(help="Output dataset folder.")],
    names: Annotated[
        Path,
        typer.Option(
            help="Folder of the npm package cldr-annotations-full or the pip package emoji.",
        ),
    ],
    pictures: Annotated[
        list[str],
        typer.Option(
            metavar="[NAME=]DIR",
            help="Folder of files named by code point (1f34e.png); can be repeated.",
        ),
    ],
    languages: Annotated[
        str | None, typer.Option(help="Languages of the names, comma-separated (default: all).")
    ] = None,
    listing: Annotated[
        Path | None,
        typer.Option("--list", help="emoji.json of emoji-datasource; leaves out flags and signs."),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Category in --list, such as 'Food & Drink'; can be repeated."),
    ] = None,
    held_out: Annotated[
        float, typer.Option(min=0, max=1, help="Share of concepts in val and test combined.")
    ] = 0.25,
    background: Annotated[str, typer.Option(help="Background colour.")] = "white",
) -> None:
    """Write a dataset folder of emoji with their names in many languages, split by concept."""
    from polyglance.data.emoji import EmojiOptions, write_emoji

    codes = None if languages is None else listed(languages, "--languages", ALL)
    options = EmojiOptions(codes, listing, category or None, held_out, background)
    written = write_emoji(out, names, _sets(pictures), options)
    spoken = {code for entry in written.images for code in entry.captions}
    counts = Counter(entry.split for entry in written.images)
    splits = ", ".join(f"{counts[split]} {split}" for split in ("train", "val", "test"))
    if written.dropped:
        typer.echo(
            f"note: {written.dropped} names were left out of train because an emoji in val or "
            "test also has them",
            err=True,
        )
    total = sum(len(entry.captions) for entry in written.images)
    typer.echo(
        f"{out}: {len(written.images)} images ({splits}), {total} names, {len(spoken)} languages"
    )


def _sets(folders: list[str]) -> dict[str, Path]:
    """Name of an image set → its folder."""
    found: dict[str, Path] = {}
    for text in folders:
        name, separator, folder = text.partition("=")
        path = Path(folder if separator else text).expanduser()
        name = name if separator else path.resolve().name
        if not name or name in found or "/" in name or name.startswith("."):
            raise PolyglanceError(
                f"--pictures '{text}': give each folder its own name, such as noto={path}"
            )
        found[name] = path
    return found
