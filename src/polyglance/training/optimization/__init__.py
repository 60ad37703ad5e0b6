"""Learning rates and optimizers."""
