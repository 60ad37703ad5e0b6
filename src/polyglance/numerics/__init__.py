"""Arrays and tensors: where and in how many bits they are computed, and what is."""
