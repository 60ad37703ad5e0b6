"""`polyglance serve`: a web page and an HTTP API."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.errors import PolyglanceError, needed_by


def serve_command(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[LIBRARY|FOLDER]",
            help="Library or image folder (default: $POLYGLANCE_PLACE, or the most recently "
            "created library).",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port to listen on; 0 picks a free one (default: $POLYGLANCE_PORT, or 8000).",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen on; a token is required if other machines can reach it "
            "(default: $POLYGLANCE_HOST, or 127.0.0.1)."
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="Token that requests must send as 'Authorization: Bearer TOKEN' (default: "
            "$POLYGLANCE_TOKEN, or the content of $POLYGLANCE_TOKEN_FILE)."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve sample photos from installed packages.")
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="An exported model (default: the library's, or the included model)."),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Requests per minute and client (default: $POLYGLANCE_RATE, or unlimited).",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Website whose pages may send requests, such as https://example.org; can be "
            "repeated (default: $POLYGLANCE_ALLOW_ORIGIN, or none)."
        ),
    ] = None,
    log_queries: Annotated[
        bool | None,
        typer.Option(
            "--log-queries/--no-log-queries",
            help="Also write queries to the log (default: $POLYGLANCE_LOG_QUERIES, or no).",
        ),
    ] = None,
    reload: Annotated[
        bool | None,
        typer.Option(
            "--reload/--no-reload",
            help="Reload the library or folder when it changes (default: $POLYGLANCE_RELOAD, "
            "or yes).",
        ),
    ] = None,
    watch: Annotated[
        bool | None,
        typer.Option(
            "--watch/--no-watch",
            help="Also sync the library when its folders change (default: $POLYGLANCE_WATCH, "
            "or no).",
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Search images in a browser, and from other programs.

    polyglance serve ~/Pictures
    """
    with needed_by("'polyglance serve'", "serve"):
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import pydantic_settings  # noqa: F401
        import uvicorn  # noqa: F401
    from polyglance.data.photographs import gather
    from polyglance.serve.access.guard import Access
    from polyglance.serve.access.origins import check_origins
    from polyglance.serve.images.collection import (
        Collection,
        check_place,
        open_collection,
        served_place,
    )
    from polyglance.serve.reloading import Reloader, mark_of
    from polyglance.serve.run import check_access, run
    from polyglance.serve.service import Service
    from polyglance.serve.settings import serve_settings
    from polyglance.serve.syncing import LibraryWatch, check_watchable
    from polyglance.storage.files import cache_dir

    if demo:
        place = gather(cache_dir(cache) / "photographs")
    own = serve_settings(
        place=place,
        host=host,
        port=port,
        token=token,
        rate=rate,
        allow_origin=allow_origin or None,
        log_queries=log_queries,
        reload=reload,
        watch=watch,
    )
    check_access(own.host, own.token)
    origins = check_origins(own.allow_origin)
    access = Access(own.token, own.rate, origins, own.log_queries, own.host)
    found = served_place(own.place)
    if own.watch:
        if not own.reload:
            raise PolyglanceError("--watch has no effect with --no-reload; leave out one of them")
        check_watchable(found)
    check_place(found)
    marks = []

    def opened() -> Collection:
        marks.append(mark_of(found))
        return open_collection(found, model, cache, empty=own.watch)

    service = Service(opened)
    watched = LibraryWatch(found, model)

    def ready(address: str) -> None:
        typer.echo(f"{len(service.now.collection)} images at {address} (Ctrl-C to stop)")
        if own.reload:
            Reloader(service, found, model, cache, seen=marks[0]).start()
        if own.watch:
            watched.start()

    try:
        run(service, own.host, own.port, access, ready)
    finally:
        watched.close()
