"""What every room uses and no model is made of: documents, names, packages, processes."""
