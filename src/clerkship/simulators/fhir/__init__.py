"""`fhir`: an electronic health record, over FHIR R4 REST."""
