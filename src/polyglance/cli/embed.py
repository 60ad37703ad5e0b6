"""`polyglance embed`: embed large collections into shards."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polyglance.core.terminal import counted, printable
from polyglance.errors import PolyglanceError, needed_by


class EngineName(StrEnum):
    """The engine that does the work."""

    processes = "processes"
    ray = "ray"


class ShardKind(StrEnum):
    """File format of the shards."""

    parquet = "parquet"
    lance = "lance"


def embed_command(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of images, tars (WebDataset) or Parquet files, or one tar or Parquet "
            "file; local or remote (s3:// and others)."
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder for the shards, local or remote.")],
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the included model)."),
    ] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Use local processes, or a Ray cluster.")
    ] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one per core).")
    ] = None,
    kind: Annotated[
        ShardKind, typer.Option("--format", help="Format of the shards.")
    ] = ShardKind.parquet,
    rows: Annotated[
        int, typer.Option(min=1, help="Images per shard; a kill loses unfinished shards.")
    ] = 2048,
    column: Annotated[
        str,
        typer.Option(
            help="For Parquet files: the column with image bytes or addresses (default: detected)."
        ),
    ] = "",
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails/--no-thumbnails", help="Store thumbnails in the shards.")
    ] = True,
) -> None:
    """Embed a large collection into shards for a library; if interrupted, run again to resume.

    polyglance embed s3://bucket/pictures --out shards --engine ray
    """
    with needed_by("'polyglance embed'", "library"):
        import pyarrow  # noqa: F401

        from polyglance.collection import embed_collection
    report = embed_collection(
        source, out, model, engine.value, workers, kind.value, rows, column, thumbnails
    )
    counts = f"{counted(report.images, 'image')}, {counted(report.problems, 'problem')}"
    typer.echo(f"{counts}: {printable(out)}")
    if report.problems:
        typer.echo(f"problems: {printable(out)}/problems.jsonl", err=True)
    if report.failed:
        place, reason = report.failed[0]
        raise PolyglanceError(
            f"{counted(len(report.failed), 'part')} could not be processed (the first: {place}, "
            f"{reason}); "
            "run the command again to resume"
        )
