"""One running environment: its clock, ids, log and sandboxes, and the ways in."""
