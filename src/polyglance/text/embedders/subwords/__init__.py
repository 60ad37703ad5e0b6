"""Parts of words, of any language: pieces of a vocabulary, and hashes."""
