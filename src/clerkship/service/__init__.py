"""Use cases: what the command line, pytest and other entry points call."""
