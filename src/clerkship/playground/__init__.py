"""A playground is one running environment: its clock, ids, event log and sandboxes, and access to them."""
