"""What `clerkship demo` runs: a conversation, and a prior authorization over four channels, with two agents."""
