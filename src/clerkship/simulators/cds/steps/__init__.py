"""Steps of a `cds` sandbox."""
