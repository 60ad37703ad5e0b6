"""polyglance card"""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def card_command(
    model: Annotated[
        Path | None,
        typer.Argument(help="A run or an exported model (default: the one that comes with it)."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; stdout by default.")] = None,
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(help="JSON of 'polyglance evaluate --json'; may be repeated."),
    ] = None,
    licence: Annotated[
        list[str] | None,
        typer.Option(help="A line on the data's or a part's licence; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The card's title.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Dataset that it was trained on, to tell languages with captions from others."
        ),
    ] = None,
) -> None:
    """Write a model card from what a model's folder and its evaluations say."""
    check_outputs([out])
    from polyglance.runtime import shipped
    from polyglance.runtime.card import model_card
    from polyglance.storage.files import atomic

    card = model_card(model or shipped(), evaluation or [], licence or [], name, data)
    if out is None:
        typer.echo(card, nl=False)
        return
    with atomic(out, "w") as handle:
        handle.write(card)
    typer.echo(f"card: {out}", err=True)
