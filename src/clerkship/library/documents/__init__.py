"""Files of data beside a dataset: found, read in pieces, with the place of everything in them."""
