"""Ranks, and what is measured of them."""
