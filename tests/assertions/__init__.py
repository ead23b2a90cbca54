"""One module per assertion."""
