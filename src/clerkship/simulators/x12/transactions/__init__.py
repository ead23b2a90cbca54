"""Translate validated transaction sets to what a payer is asked, and the payer's answers to reply sets.

Each module has one pair of functions, without state:

- `eligibility`: `read_eligibility` (270), `write_eligibility` (271)
- `claim_status`: `read_claim_status` (276), `write_claim_status` (277)
- `authorization`: `read_authorization` (278 request or inquiry), `write_authorization` (278 response)
"""
