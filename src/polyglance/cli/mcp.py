"""`polyglance mcp`: lets assistants search images on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.errors import needed_by


def mcp_command(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[LIBRARY|FOLDER]",
            help="Library or image folder (default: the most recently created library).",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the library's, or the included model)."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Let assistants search images, with an MCP server on stdin and stdout.

    Add the command to the assistant's settings, for example: polyglance mcp ~/Pictures
    """
    with needed_by("'polyglance mcp'", "mcp"):
        import mcp  # noqa: F401
    from polyglance.serve.clients.assistant import Assistant
    from polyglance.serve.clients.mcp_server import make_server
    from polyglance.serve.images.collection import open_collection, served_place
    from polyglance.serve.reloading import Reloader, mark_of

    found = served_place(place)
    seen = mark_of(found)
    assistant = Assistant(open_collection(found, model, cache))
    Reloader(assistant, found, model, cache, seen=seen).start()
    make_server(assistant).run()
