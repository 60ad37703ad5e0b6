"""Files become pictures: which ones, what they say, how they look."""
