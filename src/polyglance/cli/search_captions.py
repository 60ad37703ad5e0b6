"""`polyglance search --captions`: rank captions for images."""

import json as json_module
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from polyglance.cli.options import naming_options
from polyglance.core.terminal import path_bytes, printable
from polyglance.errors import OutsideWarning, PolyglanceWarning

if TYPE_CHECKING:
    from polyglance.gallery import CaptionHit, CaptionResults, Gallery, ImageResult


@dataclass(frozen=True)
class Outputs:
    """Outputs besides the terminal; `json` "-" is stdout."""

    json: str | None
    sheet: Path | None
    fonts: Sequence[Path]


def print_captions(
    model: Path | None,
    images: Sequence[str],
    captions: str,
    top: int,
    language: str | None,
    split: str | None,
    cache: Path | None,
    outputs: Outputs,
    device: str,
) -> None:
    """Find captions for images, print and write them.

    Args:
        model: folder of a run or exported model; None is the included model.
        images: files, folders, or names of the dataset's images.
        captions: a text file, a table or a dataset.
        top: captions per image.
        language: of the captions.
        split: of the dataset.
        cache: folder for features.
        outputs: further outputs.
        device: of the model.
    """
    from polyglance.gallery import search_captions

    with naming_options(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)  # printed below
        warnings.simplefilter("always", OutsideWarning)
        found = search_captions(
            model,
            images,
            captions,
            top=top,
            language=language,
            split=split,
            cache=cache,
            device=device,
        )
    for note in found.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    print_unreadable(found.gallery)
    if outputs.sheet is not None:
        print_unshown(found.write_sheet(outputs.sheet, fonts=outputs.fonts))
        typer.echo(f"sheet: {outputs.sheet}", err=True)
    if outputs.json == "-":
        typer.echo(json_module.dumps(found.as_dict(), ensure_ascii=False, indent=2))
        return
    _print_hits(found)
    if outputs.json is not None:
        found.write_json(outputs.json)


def print_unreadable(gallery: "Gallery") -> None:
    """List skipped images with the reason; those reported before are only counted."""
    new = gallery.unreadable[: len(gallery.unreadable) - gallery.reported]
    if new:
        typer.echo(f"skipped {len(new)}:", err=True)
    for path, reason in new:
        typer.echo(f"  {printable(path)}: {printable(reason)}", err=True)
    if gallery.reported:
        rest = f"{gallery.reported} more that" if new else f"{gallery.reported} that"
        typer.echo(
            f"skipped {rest} cannot be read, as reported before; --json lists them", err=True
        )


def print_unshown(texts: Sequence[str]) -> None:
    """List the texts that no font can show on a sheet."""
    for text in texts:
        typer.echo(
            f"note: no installed font can display '{printable(text)}' on the sheet; install one, "
            "such as Noto Sans, or pass it with --font",
            err=True,
        )


def _print_hits(found: "CaptionResults") -> None:
    """Tables in a terminal; in a pipe `score<TAB>caption`, with several images also the image."""
    for result in found:
        if sys.stdout.isatty():
            _print_table(result)
            continue
        last = b"\t" + path_bytes(result.path) if len(found) > 1 else b""
        for hit in result.hits:
            text = printable(" ".join(hit.text.split()))
            typer.echo(f"{hit.score:.4f}\t{text}".encode() + last)


def _print_table(result: "ImageResult") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    title = escape(printable(result.path))
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("caption", overflow="fold")
    for hit in result.hits:
        table.add_row(str(hit.rank), f"{hit.score:.4f}", escape(printable(_marked(hit))))
    Console().print(table)


def _marked(hit: "CaptionHit") -> str:
    """The caption, with a cross if it is known to belong to another image."""
    return f"{hit.text} ×" if hit.correct is False else hit.text
