"""Files on disk to model objects, with every mistake at its file, line and column."""
