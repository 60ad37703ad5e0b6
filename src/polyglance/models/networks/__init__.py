"""Towers that meet, and attention between their vectors."""
