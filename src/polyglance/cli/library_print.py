"""What the commands of `polyglance library` print."""

from typing import TYPE_CHECKING

import typer

from polyglance.core.terminal import printable

if TYPE_CHECKING:
    from polyglance.library import SyncReport

SHOWN = 10
"""Unreadable files that are named."""
_COUNTS = ("added", "changed", "moved", "copied", "removed", "unchanged")


def print_report(report: "SyncReport") -> None:
    """What a sync did on stdout, and what went wrong on stderr."""
    counts = [f"{getattr(report, name):,} {name}" for name in _COUNTS if getattr(report, name)]
    typer.echo(", ".join(counts) or "no images")
    for note in report.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    if not report.unreadable:
        return
    told = len(report.unreadable) - report.fresh
    for path, reason in report.unreadable[:SHOWN]:
        typer.echo(f"skipped {printable(path)}: {printable(reason)}", err=True)
    if len(report.unreadable) > SHOWN:
        typer.echo(f"… and {len(report.unreadable) - SHOWN:,} others", err=True)
    if told:
        typer.echo(f"({told:,} of them were skipped before)", err=True)
