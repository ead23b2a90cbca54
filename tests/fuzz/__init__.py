"""Property tests of parsers of untrusted bytes: HL7 messages, batches, frames and paths, X12 interchanges."""
