"""Contact sheets: what a search found, drawn."""
