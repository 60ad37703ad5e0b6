"""What is done to a whole library: copied, exported, embedded anew, compared."""
