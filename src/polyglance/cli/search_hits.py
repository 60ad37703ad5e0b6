"""Prints and opens the images found by a search."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from polyglance.core.terminal import path_bytes, printable
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.gallery import Hit, QueryResult, SearchResults


def print_hits(found: "SearchResults", null: bool = False, thumbnails: bool = False) -> None:
    """Tables in a terminal; in a pipe `score<TAB>path`, with several queries also the query, and
    for a frame of a video its second.

    Args:
        found: the results.
        null: print only paths, byte-exact, each terminated by a zero byte.
        thumbnails: show small images above a table.
    """
    table = sys.stdout.isatty() and not null
    for result in found:
        if result.nothing:
            named = f"'{printable(result.query.label)}': " if len(found) > 1 else ""
            hint = "the closest images:" if table else "--all shows the closest images"
            typer.echo(f"{named}{result.message}; {hint}", err=True)
        if table:
            hits = result.hits or result.closest
            if thumbnails and found.gallery.has_files:
                _print_thumbnails([hit.path for hit in hits])
            _print_table(result.query.label, hits)
            _print_rest(result, len(found) > 1)
        else:
            _print_lines(result, null, len(found) > 1)
    copied = {hit.path for result in found for hit in result.hits if hit.copies}
    if copied and not table:
        some = "1 image has" if len(copied) == 1 else f"{len(copied)} images have"
        typer.echo(f"note: {some} copies, which --json lists", err=True)


def _print_lines(result: "QueryResult", null: bool, several: bool) -> None:
    last = f"\t{printable(result.query.label)}" if several else ""
    for hit in result.hits:
        if null:
            typer.echo(os.fsencode(hit.path) + b"\0", nl=False)
        else:
            score = f"{hit.score:.4f}\t".encode()
            moment = "" if hit.second is None else f"\t{hit.second:g}"
            typer.echo(score + path_bytes(hit.path) + last.encode() + moment.encode())


def _print_thumbnails(paths: Sequence[Path]) -> None:
    import shutil

    from polyglance.gallery.graphics import protocol, thumbnails

    for part in thumbnails(paths, protocol(), shutil.get_terminal_size().columns):
        sys.stdout.write(part)
    sys.stdout.flush()


def _print_table(label: str, hits: "Sequence[Hit]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    title = escape(printable(label))
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("score", justify="right")
    table.add_column("image", overflow="fold")
    for hit in hits:
        moment = "" if hit.second is None else f" ({_moment(hit.second)})"
        names = f"{printable(hit.path)}{moment}"
        if hit.copies:
            copies = "+1 copy" if len(hit.copies) == 1 else f"+{len(hit.copies)} copies"
            names += f"\n{copies}: " + "\n".join(printable(path) + moment for path in hit.copies)
        table.add_row(str(hit.rank), f"{hit.score:.4f}", escape(names))
    Console().print(table)


def _print_rest(result: "QueryResult", named: bool) -> None:
    """How many more images match."""
    more = (result.matches or 0) - len(result.hits)
    if more > 0:
        label = f"'{printable(result.query.label)}': " if named else ""
        verb = "matches" if more == 1 else "match"
        shows = "it" if more == 1 else "them"
        typer.echo(f"{label}{more} more {verb}; --top {result.matches} shows {shows}", err=True)


def _moment(second: float) -> str:
    """A position in a video.

    >>> _moment(9.5), _moment(3725)
    ('0:09', '1:02:05')
    """
    minutes, seconds = divmod(int(second), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def open_files(paths: Sequence[Path]) -> None:
    """Open files in the system's viewer, each once, without waiting."""
    for path in dict.fromkeys(paths):
        if sys.platform == "win32":
            os.startfile(path)
            continue
        program = "open" if sys.platform == "darwin" else "xdg-open"
        try:
            subprocess.Popen(
                [program, str(path.absolute())],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise PolyglanceError(f"--open needs the program '{program}'; install it") from None
