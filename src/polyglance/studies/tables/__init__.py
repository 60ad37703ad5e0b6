"""Papers' tables, one YAML file each."""
