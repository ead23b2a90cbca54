"""CDS Hooks 2.0: services, hook requests, cards, feedback, validation and prefetch templates.

See docs/decisions/0022-cds-hooks.md.
"""
