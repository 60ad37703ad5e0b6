"""Queries asked in translation, in one language or in several."""
