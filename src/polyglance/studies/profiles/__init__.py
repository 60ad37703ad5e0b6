"""Profiles that several studies of a paper share."""
