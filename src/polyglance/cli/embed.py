"""`polyglance embed`: large collections into shards."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError, needed_by


class EngineName(StrEnum):
    """Who does the work."""

    processes = "processes"
    ray = "ray"


class ShardKind(StrEnum):
    """What the shards are."""

    parquet = "parquet"
    lance = "lance"


def embed_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder of images, of tars (WebDataset) or of Parquet files, or such a file; "
            "here or elsewhere (s3:// and others)."
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder of the shards, here or elsewhere.")],
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the one that comes with polyglance)."),
    ] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Processes of this machine, or Ray's cluster.")
    ] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes (default: as many as cores).")
    ] = None,
    kind: Annotated[ShardKind, typer.Option("--format", help="Of the shards.")] = ShardKind.parquet,
    rows: Annotated[int, typer.Option(min=1, help="Images of a shard: what a kill costs.")] = 2048,
    column: Annotated[
        str, typer.Option(help="Of Parquet files: the column with images, bytes or addresses.")
    ] = "",
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails/--no-thumbnails", help="Keep small copies in the shards.")
    ] = True,
) -> None:
    """Embed a large collection into shards that a library opens; killed, it goes on.

    polyglance embed s3://bucket/pictures --out shards --engine ray
    """
    with needed_by("'polyglance embed'", "library"):
        import pyarrow  # noqa: F401

        from polyglance.collection import embed_collection
    report = embed_collection(
        source, out, model, engine.value, workers, kind.value, rows, column, thumbnails
    )
    typer.echo(f"{report.images:,} images, {report.problems:,} problems: {printable(out)}")
    if report.problems:
        typer.echo(f"problems: {printable(out)}/problems.jsonl", err=True)
    if report.failed:
        place, reason = report.failed[0]
        raise PolyglanceError(
            f"{len(report.failed)} parts could not be done now (the first: {place}, {reason}); "
            "call the command again to go on"
        )
