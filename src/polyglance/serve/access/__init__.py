"""What stands before every request: who may ask and how often, logs and metrics."""
