"""Ranks, and metrics and statistics of ranks."""
