"""Steps of a payer portal."""
