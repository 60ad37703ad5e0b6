"""Keys of runs: digests of everything that a run depends on."""
