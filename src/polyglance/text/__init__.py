"""From texts to vectors: tokenizers, word vectors, embedders, encoders."""
