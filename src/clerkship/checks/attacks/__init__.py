"""Attack strategies that no task may let pass, run over a suite by `clerkship suite attack`."""
