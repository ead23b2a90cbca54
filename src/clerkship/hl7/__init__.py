"""HL7 v2 as pure functions: messages in their ER7 form, paths into them, what the standard asks of them."""
