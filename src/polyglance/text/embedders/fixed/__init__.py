"""Fixed word vectors, and translators between languages."""
