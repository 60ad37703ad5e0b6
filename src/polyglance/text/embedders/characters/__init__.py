"""Word vectors from characters."""
