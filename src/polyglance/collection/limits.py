"""Limits on an image before it is decoded; those of decoding are in `data.images`."""

LARGEST = 200_000_000
"""Largest image file, in bytes."""
ATTEMPTS = 3
"""How often a remote image is requested before giving up."""
PAUSE = 0.5
"""Seconds; the wait is twice as long before the second attempt, four times before the third."""
SECONDS, PIECE = 120.0, 1 << 20
"""Time limit for fetching a remote image, and bytes read at a time."""
