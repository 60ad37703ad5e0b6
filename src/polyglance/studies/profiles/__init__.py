"""Sizes that several studies of one paper share."""
