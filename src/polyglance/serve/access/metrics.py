"""Metrics for Prometheus."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """Metrics of one service; routes are as in the OpenAPI document, without parameters."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "polyglance_requests",
            "Responses by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "polyglance_request_seconds",
            "Seconds from the first byte of a request to the last byte of its response.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._batches = Histogram(
            "polyglance_batch_size",
            "Number of texts or images encoded together.",
            ("kind",),
            buckets=_BATCH,
            registry=self.registry,
        )
        self.under_way = Gauge(
            "polyglance_requests_under_way", "Requests being processed.", registry=self.registry
        )
        self.images = Gauge(
            "polyglance_pictures", "Number of images searched.", registry=self.registry
        )
        self.reloads = Counter(
            "polyglance_reloads", "Reloads of changed images.", registry=self.registry
        )
        self.failed_reloads = Counter(
            "polyglance_failed_reloads",
            "Reloads of changed images that failed.",
            registry=self.registry,
        )

    def answered(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count a response.

        Args:
            route: None if there is nothing at the address.
            method: of HTTP.
            status: of HTTP; 0 if the client disconnected.
            seconds: duration.
        """
        shown = route or "none"
        # Clients can send arbitrary words as methods.
        known = method if method in ("GET", "HEAD", "POST", "OPTIONS") else "other"
        self._requests.labels(shown, known, str(status)).inc()
        self._seconds.labels(shown).observe(seconds)

    def batch(self, kind: str, count: int) -> None:
        """Count a batch of "texts" or "pictures"."""
        self._batches.labels(kind).observe(count)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        return generate_latest(self.registry)
