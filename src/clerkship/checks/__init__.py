"""What authors run against a simulator or a suite: the conformance suite, and attack agents."""
