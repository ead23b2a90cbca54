"""Steps of the payers."""
