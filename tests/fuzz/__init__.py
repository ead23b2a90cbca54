"""Inputs that nobody thought of: mutated from seeds, kept where they reach code that no other has reached."""
