"""Learning rates, and the steps that they scale."""
