"""Papers' tables, a YAML file each."""
