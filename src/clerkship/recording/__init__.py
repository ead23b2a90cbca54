"""Recordings: cassette files, record and replay of models and agents, redaction."""
