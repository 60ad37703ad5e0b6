"""Stores of libraries behind one protocol."""
