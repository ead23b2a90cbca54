"""Evaluate FHIRPath over the tree that the parser of fhirpathpy builds.

See docs/decisions/fhir_criteria.md for why the functions and operators are not fhirpathpy's own.
"""
