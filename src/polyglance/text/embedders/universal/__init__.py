"""Words of all languages in one space."""
