"""Running what a plan lacks."""
