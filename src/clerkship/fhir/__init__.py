"""FHIR R4 (4.0.1) as a standard: what resources are made of, how they are searched, what is wrong with one."""
