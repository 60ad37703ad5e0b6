"""Routes for monitoring."""

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from polyglance.core.version import __version__
from polyglance.serve.access.metrics import TYPE
from polyglance.serve.service import Service
from polyglance.serve.shapes import Health, Readiness


def add_watching(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: to monitor.
    """

    @app.get("/v1/health")
    def health() -> Health:
        """Whether the service runs; needs no token."""
        return Health(version=__version__)

    @app.get("/v1/ready", responses={503: {"model": Readiness}})
    def ready() -> Readiness:
        """Whether the service is ready for requests; needs no token. If not, the status is 503."""
        found = Readiness(ready=service.ready)
        if not found.ready:
            if service.progress is not None and not service.opened.is_set():
                found.indexed, found.to_index = service.progress
            return JSONResponse(found.model_dump(), 503)  # type: ignore[return-value]
        return found

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(service.metrics.text(), media_type=TYPE)
