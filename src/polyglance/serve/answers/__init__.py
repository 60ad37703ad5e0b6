"""What requests are answered with."""
