"""Data files of a dataset: found, read in chunks, with the position of everything in them."""
