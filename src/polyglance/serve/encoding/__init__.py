"""Texts and images of requests become embeddings."""
