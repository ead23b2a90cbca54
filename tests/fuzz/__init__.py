"""Property tests of what reads bytes from outside: HL7 messages, streams, frames and paths."""
