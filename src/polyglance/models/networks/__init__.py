"""Networks of an image and a text tower, and attention between their vectors."""
