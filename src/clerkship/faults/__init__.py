"""What can go wrong between an agent and a sandbox: one fault per file."""
