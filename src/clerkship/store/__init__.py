"""Storage of runs: a protocol, and its implementation with SQLite."""
