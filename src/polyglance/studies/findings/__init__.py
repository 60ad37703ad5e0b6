"""What came out: numbers, differences, and whether the paper's claims hold."""
