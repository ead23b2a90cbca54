"""Pure data: what a file, a run and a verdict are made of. Imports nothing else of ours."""
