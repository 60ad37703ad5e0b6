"""What a study file says, and reading one."""
