"""Policies of payers: documents in versions, with the days on which they apply and a rank."""
