"""Published versions: a suite frozen into one file. See docs/decisions/0032-published-archives.md."""
