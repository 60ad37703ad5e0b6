"""Word vectors: files, skip-gram, co-occurrence."""
