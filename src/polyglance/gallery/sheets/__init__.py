"""Contact sheets: what a search found, as a picture."""
