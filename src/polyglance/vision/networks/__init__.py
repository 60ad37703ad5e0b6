"""Image networks and their preprocessing."""
