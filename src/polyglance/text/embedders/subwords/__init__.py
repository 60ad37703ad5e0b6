"""Subwords of any language: SentencePiece's pieces, and hashes."""
