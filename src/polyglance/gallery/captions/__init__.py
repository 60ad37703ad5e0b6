"""Search from images to texts."""
