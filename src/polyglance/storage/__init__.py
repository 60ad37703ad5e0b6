"""What lies on disk: files written whole, folders here and elsewhere, tensors, digests."""
