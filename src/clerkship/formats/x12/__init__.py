"""X12 5010: interchanges, transaction sets, validation and acknowledgments."""
