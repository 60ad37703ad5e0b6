"""polyglance card"""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs
from polyglance.errors import PolyglanceError


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
    speed: Annotated[
        Path | None, typer.Option(help="Measurements of benchmarks/runtime.py --json.")
    ] = None,
    biases: Annotated[
        Path | None, typer.Option(help="Measurements of benchmarks/biases.py --json.")
    ] = None,
    reproduce: Annotated[
        str, typer.Option(help="How the model was made, if its recipe does not tell.")
    ] = "",
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Store these facts in an exported MODEL, for later cards."),
    ] = False,
) -> None:
    """Write a model card from a model's folder and its evaluation results."""
    check_outputs([out])
    from polyglance.runtime.card import CardSources, keep_card, model_card
    from polyglance.storage.files import atomic

    sources = CardSources(
        evaluations=evaluation or (),
        licences=licence or (),
        name=name,
        data=data,
        speed=speed,
        biases=biases,
        reproduce=reproduce,
    )
    if keep:
        if model is None:
            raise PolyglanceError("--keep needs the folder of an exported model as MODEL")
        keep_card(model, sources)
        typer.echo(f"kept in: {model}", err=True)
        if out is None:
            return
    card = model_card(model, sources)
    if out is None:
        typer.echo(card, nl=False)
        return
    with atomic(out, "w") as handle:
        handle.write(card)
    typer.echo(f"card: {out}", err=True)
