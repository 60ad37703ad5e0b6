"""Keeping a library current with its folders."""
