"""Stores behind the one protocol."""
