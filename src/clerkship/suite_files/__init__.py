"""Load files into model objects, and report every mistake with file, line and column."""
