"""Reports of runs, for people and machines."""
