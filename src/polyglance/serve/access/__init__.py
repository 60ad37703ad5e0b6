"""Access control before every request: authentication, rate limits, logs and metrics."""
