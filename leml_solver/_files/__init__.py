"""Writing and reading arrays safely."""
