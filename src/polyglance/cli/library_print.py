"""Output of the `polyglance library` commands."""

from typing import TYPE_CHECKING

import typer

from polyglance.core.terminal import printable

if TYPE_CHECKING:
    from polyglance.library import SyncReport

SHOWN = 10
"""Number of unreadable files listed."""
_COUNTS = ("added", "changed", "moved", "copied", "removed", "captioned", "unchanged")


def print_report(report: "SyncReport", again: bool = True) -> None:
    """Print the outcome of a sync to stdout, and problems to stderr.

    Args:
        report: of the sync.
        again: list unreadable files that were reported before.
    """
    counts = [f"{getattr(report, name):,} {name}" for name in _COUNTS if getattr(report, name)]
    typer.echo(", ".join(counts) or "no images")
    for note in report.notes:
        typer.echo(f"note: {printable(note)}", err=True)
    listed = report.unreadable if again else report.unreadable[: report.fresh]
    reported = len(listed) - report.fresh
    for path, reason in listed[:SHOWN]:
        typer.echo(f"skipped {printable(path)}: {printable(reason)}", err=True)
    if len(listed) > SHOWN:
        typer.echo(f"… and {len(listed) - SHOWN:,} more", err=True)
    if reported:
        was = "was" if reported == 1 else "were"
        typer.echo(f"({reported:,} of them {was} skipped before)", err=True)
