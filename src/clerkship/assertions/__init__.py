"""The generic checks, one per file. What a simulator alone can check is in its own folder."""
