"""`polyglance serve`: a web page and an API over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.errors import needed_by


def serve_command(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[LIBRARY|FOLDER]",
            help="A library, or a folder of images (default: the library made last).",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 is a free one.")
    ] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="POLYGLANCE_TOKEN",
            help="What requests must carry, as 'Authorization: Bearer TOKEN'.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the library's, or the package's own)."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Search pictures in a browser, and from other programs.

    polyglance serve ~/Pictures
    """
    with needed_by("'polyglance serve'", "serve"):
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    from polyglance.serve import open_collection
    from polyglance.serve.run import check_access, run

    check_access(host, token)
    collection = open_collection(place, model, cache)
    count = len(collection)

    def ready(address: str) -> None:
        typer.echo(f"{count} pictures at {address} (Ctrl-C ends it)")

    run(collection, host, port, token, ready)
