"""Reports, made from real and from made-up runs."""
