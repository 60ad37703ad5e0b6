"""Results as objects, tables and files."""
