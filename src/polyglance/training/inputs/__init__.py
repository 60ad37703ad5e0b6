"""What a training reads: captions as ids, features, and what is drawn of them."""
