"""What is asked for at which address, by subject."""
