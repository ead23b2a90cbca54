"""Time, ids, randomness and secrets: created per run from a seed and passed in, never global."""
