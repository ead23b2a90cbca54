"""Steps of a fax line."""
