"""Clinical questions that the portal asks about a requested procedure."""
