"""Pure data models of files, runs and verdicts. This package imports nothing else of Clerkship."""
