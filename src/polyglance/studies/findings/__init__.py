"""The findings: values, differences, and whether the paper's claims hold."""
