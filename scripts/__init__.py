"""Scripts that maintain the project."""
