"""Shared by all rooms: documents, registries, languages, packages, processes."""
