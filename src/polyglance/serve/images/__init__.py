"""The served images and their metadata."""
