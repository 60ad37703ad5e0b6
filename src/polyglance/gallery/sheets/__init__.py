"""Contact sheets: drawings of search results."""
