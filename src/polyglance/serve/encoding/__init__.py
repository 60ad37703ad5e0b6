"""Texts and pictures of requests become embeddings."""
