"""From image files to features in a store."""
