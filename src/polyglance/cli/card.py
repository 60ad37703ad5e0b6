"""polyglance card"""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def card_command(
    model: Annotated[
        Path | None,
        typer.Argument(help="A run or an exported model (default: the included model)."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output file (default: stdout).")] = None,
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(help="Results written by 'polyglance evaluate --json'; can be repeated."),
    ] = None,
    licence: Annotated[
        list[str] | None,
        typer.Option(help="A line on the licence of the data or of a part; can be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Title of the card.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Training dataset, to tell languages with captions from the others."),
    ] = None,
) -> None:
    """Write a model card from a model's folder and its evaluation results."""
    check_outputs([out])
    from polyglance.runtime.card import model_card
    from polyglance.storage.files import atomic

    card = model_card(model, evaluation or [], licence or [], name, data)
    if out is None:
        typer.echo(card, nl=False)
        return
    with atomic(out, "w") as handle:
        handle.write(card)
    typer.echo(f"card: {out}", err=True)
