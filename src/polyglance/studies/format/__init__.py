"""The format of study files, and reading them."""
