"""Steps of a CDS service."""
