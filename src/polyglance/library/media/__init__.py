"""Media files: their kinds, metadata and images."""
