"""`hl7`: an interface engine that speaks HL7 v2 over MLLP and HTTP."""
