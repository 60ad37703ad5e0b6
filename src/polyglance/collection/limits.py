"""What an image may cost before it is decoded; `data.images` bounds what comes then."""

LARGEST = 200_000_000
"""Bytes of an image's file."""
ATTEMPTS = 3
"""Times that an image is fetched from another machine before it is given up."""
PAUSE = 0.5
"""Seconds; twice as many are waited before the second attempt, four times before the third."""
SECONDS, PIECE = 120.0, 1 << 20
"""How long an image of another machine may take to come, and how much is read at a time."""
