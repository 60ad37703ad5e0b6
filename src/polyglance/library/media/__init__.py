"""From files to images: which ones, what they say, how they look."""
