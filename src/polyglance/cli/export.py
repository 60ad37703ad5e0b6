"""polyglance export"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Stored(StrEnum):
    """How weights are stored."""

    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


def export_command(
    model: Annotated[Path, typer.Argument(help="A trained model with two towers.")],
    onnx: Annotated[Path, typer.Option(help="Folder to write; it must be new or empty.")],
    precision: Annotated[
        Stored, typer.Option(help="How weights are stored; results are computed in float32.")
    ] = Stored.fp32,
    cache: Annotated[
        Path | None, typer.Option(help="Where converted image networks are kept.")
    ] = None,
) -> None:
    """Write a model as ONNX, to encode texts and pictures without torch."""
    from polyglance.runtime import export_model

    made = export_model(model, onnx, precision.value, cache)
    size = sum(path.stat().st_size for path in onnx.rglob("*") if path.is_file()) / 2**20
    typer.echo(f"exported: {made.recipe_name}, {made.precision}, {size:.1f} MB, id {made.id[:16]}")
    if made.without_backbone:
        typer.echo(f"without the image network: {made.without_backbone}")
    typer.echo(f"model: {onnx}")
