"""FHIR R4 (4.0.1) as pure functions: definitions, validation, FHIRPath and search."""
