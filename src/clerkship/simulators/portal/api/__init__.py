"""The REST API of a payer portal: the same records, checks and words as its pages."""
