"""Files on disk: atomic writes, local and remote folders, tensors, digests."""
