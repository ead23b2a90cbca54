"""Where runs are kept: a small protocol, and SQLite behind it."""
