"""Hostile inputs as generators: each case must be read, or refused with one sentence."""
