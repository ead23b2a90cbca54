"""Files on disk to model objects."""
