"""Keeping a library up to date with its folders."""
