"""Wrong solutions that are derived from a recorded run of the reference solution, for `clerkship suite mutate`."""
