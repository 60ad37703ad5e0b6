"""What a run depends on: the key by which it is found again."""
