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
            help="A library, or a folder of images (default: $POLYGLANCE_PLACE, or the library "
            "made last).",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port to listen at; 0 is a free one (default: $POLYGLANCE_PORT, or 8000).",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen at; any but this machine's needs a token (default: "
            "$POLYGLANCE_HOST, or 127.0.0.1)."
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="What requests must carry, as 'Authorization: Bearer TOKEN' (default: "
            "$POLYGLANCE_TOKEN, or the content of $POLYGLANCE_TOKEN_FILE)."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve photographs that pip packages carry.")
    ] = False,
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
        import pydantic_settings  # noqa: F401
        import uvicorn  # noqa: F401
    from polyglance.data.photographs import gather
    from polyglance.files import cache_dir
    from polyglance.serve import open_collection
    from polyglance.serve.run import check_access, run
    from polyglance.serve.settings import serve_settings

    if demo:
        place = gather(cache_dir(cache) / "photographs")
    own = serve_settings(place=place, host=host, port=port, token=token)
    check_access(own.host, own.token)
    collection = open_collection(own.place, model, cache)
    count = len(collection)

    def ready(address: str) -> None:
        typer.echo(f"{count} pictures at {address} (Ctrl-C ends it)")

    run(collection, own.host, own.port, own.token, ready)
