"""Authentication schemes: which credentials a simulator accepts, and how they are checked, in every protocol.

See docs/decisions/0006-authentication.md.
"""
