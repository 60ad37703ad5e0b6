"""Encodes the texts and images of requests."""
