"""Fax pages: rendering, degradation, OCR and file formats. It knows nothing of simulators.

See docs/decisions/0023-fax.md.
"""
