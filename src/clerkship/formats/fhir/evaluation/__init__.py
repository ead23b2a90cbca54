"""Evaluate FHIRPath over the tree that the parser of fhirpathpy builds.

See docs/decisions/0013-fhir-sandbox.md for why the functions and operators are not fhirpathpy's own.
"""
