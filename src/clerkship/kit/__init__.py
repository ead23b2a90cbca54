"""Time, ids, randomness and secrets: made per run from a seed and handed in, never global."""
