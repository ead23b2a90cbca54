"""HL7 v2 as pure functions: messages in ER7, paths into them, acknowledgments and validation."""
