"""Reading images safely: whatever is given, within bounds of memory, as RGB."""
