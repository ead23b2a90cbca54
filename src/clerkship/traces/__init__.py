"""Traces: spans that agents send about themselves become events, and our own spans go to a collector."""
