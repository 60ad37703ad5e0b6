"""Search for texts by images."""
