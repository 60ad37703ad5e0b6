"""Evaluation with queries translated into one or several languages."""
