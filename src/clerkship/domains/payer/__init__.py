"""The payers of an environment: members, plans, authorizations, appeals and claims, without a transport."""
