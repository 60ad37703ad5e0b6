"""Executing the runs of a plan."""
