"""The Model Context Protocol: pure functions, its two transports, and the server of a trial."""
