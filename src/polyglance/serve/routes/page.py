"""The web page."""

from pathlib import Path

from fastapi import FastAPI, Response

from polyglance.serve.problems import Problem

FILES = Path(__file__).parents[1] / "page"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def add_page(app: FastAPI) -> None:
    """Add the page's routes; its files are read once."""
    files = {path.name: path.read_bytes() for path in FILES.iterdir() if path.suffix in TYPES}

    def sent(name: str) -> Response:
        kind = TYPES[Path(name).suffix]
        return Response(files[name], media_type=kind, headers={"cache-control": "no-cache"})

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def page() -> Response:
        return sent("index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return sent("icon.svg")

    @app.api_route("/page/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    def page_file(name: str) -> Response:
        if name not in files:
            raise Problem(404, "there is nothing at this address")
        return sent(name)
