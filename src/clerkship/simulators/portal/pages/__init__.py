"""The pages of the payer portal, in the order of its navigation."""
